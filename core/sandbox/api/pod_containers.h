// The containers of a pod's spec, of every sort, by name.
#pragma once

#include <string>

#include "core/sandbox/model/error.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

/// The name of the container that a request for a log, exec or attach means: the one it asks for, else the pod's only one. 400
/// where the pod has none of that name, and where one must be named.
ApiResult<std::string> chosen_container(const Json& pod, const std::string& asked);
/// Of any sort; null where there is none. Points into the pod.
const Json* container_named(const Json& pod, const std::string& name);

}  // namespace fleetadm::sandbox
