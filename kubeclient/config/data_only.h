// Kubeconfigs that come from elsewhere.
#pragma once

#include <string>

#include "kubeclient/base/result.h"

namespace fleetadm::kube {

/// A kubeconfig in a Secret comes from whoever may write the Secret: one that names programs or files (exec, auth-provider,
/// tokenFile, client-certificate, …) is refused.
Status check_holds_data_only(const std::string& kubeconfig);

}  // namespace fleetadm::kube
