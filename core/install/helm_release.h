#pragma once

#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::install {

/// The release by which Helm has installed an object; empty: Helm has not.
std::string helm_release_of(const Json& object);

}  // namespace fleetadm::install
