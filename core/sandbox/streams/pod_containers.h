// The containers of a pod's spec, of every sort, by name.
#pragma once

#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

/// "a b": the names in spec.<member>.
std::string container_names(const Json& pod, const char* member);
/// Of any sort; null where there is none. Points into the pod.
const Json* container_named(const Json& pod, const std::string& name);

}  // namespace fleetadm::sandbox
