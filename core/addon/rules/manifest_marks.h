// What labels, annotations and identity of a manifest say about its deployment (docs/reference/addon.md#works).
#pragma once

#include <optional>
#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::addon {

/// Where hosted mode deploys a manifest.
enum class Location { kManaged, kHosting, kNowhere };
/// An error where the mark has an unknown value.
Result<Location> location_of(const Json& manifest);

/// A Job or a Pod that runs before the add-on is removed.
bool is_pre_delete_hook(const Json& manifest);
/// It stays on the cluster after the add-on is removed.
bool is_orphaned(const Json& manifest);

/// One text for each object: group, version, kind, namespace and name.
std::string manifest_key(const Json& manifest);
/// {group, resource, namespace, name}, as manifestConfigs and feedback name an object.
Json resource_identifier(const Json& manifest);

}  // namespace fleetadm::addon
