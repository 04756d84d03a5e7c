// The FlowSchemas and PriorityLevelConfigurations of a new cluster, as kube-apiserver 1.35 makes them.
#pragma once

#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

std::vector<Json> default_priority_levels();
std::vector<Json> default_flow_schemas();

}  // namespace fleetadm::sandbox
