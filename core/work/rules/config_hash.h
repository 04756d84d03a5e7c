// The hash of a manifest that is kept on the object it was applied to, where fields of it are ignored. Pure.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::work {

inline constexpr std::string_view kConfigSpecHash = "open-cluster-management.io/config-spec-hash";

/// MD5 (lowercase hex) of an object as Go's fmt prints it: the text that upstream's agent hashes, so that either agent knows what
/// the other one has applied. An identity, not a protection.
std::string config_spec_hash(const Json& object);

}  // namespace fleetadm::work
