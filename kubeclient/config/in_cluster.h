// The configuration of a pod by variables that are given, for programs that share a process; kubeconfig.h has it by the process's
// own environment.
#pragma once

#include <functional>
#include <string>

#include "kubeclient/base/result.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::kube {

/// The value of a variable; empty where it is not set.
using Variables = std::function<std::string(const char* name)>;

bool in_cluster(const Variables& variables);
std::string in_cluster_namespace(const Variables& variables);
Result<RestConfig> in_cluster_config(const Variables& variables);

}  // namespace fleetadm::kube
