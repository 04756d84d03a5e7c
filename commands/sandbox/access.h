// That the user of a sandbox with a gateway reaches its clusters (fleetadm help cluster-access).
#pragma once

#include <string>

#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// On the hub: who asks may use all clusters. Returns who that is.
Result<std::string> allow_clusters(const kube::Client& hub);
/// On a cluster: this user may do everything.
Status allow_everything(const kube::Client& member, const std::string& user);

}  // namespace fleetadm::commands
