// The hash by which a configuration's content is known (docs/reference/addon.md#configuration-hashes).
#pragma once

#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::addon {

/// SHA-256 (lowercase hex) of the object's JSON, as Go writes it, without apiVersion, kind, metadata and status: equal for every
/// version and copy of one content.
std::string config_spec_hash(const Json& object);

}  // namespace fleetadm::addon
