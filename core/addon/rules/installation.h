// Which clusters have an add-on, and what its ManagedClusterAddOns take over from the declaration and the cluster
// (docs/reference/addon.md#installation).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// Creates and deletes the ManagedClusterAddOns of a declaration that is installed by placements. kStrict: nothing is deleted
/// while a placement's decisions name fewer clusters than its status, because they may be in the middle of being written; nothing
/// is created for a cluster under deletion.
Pass install_addon(const ObjectReader& objects, std::string_view addon, rollout::Semantics conduct);

/// Makes a managed declaration the controller of one of its ManagedClusterAddOns.
void set_owner(Json& addon, const Json& declaration);

/// Gives an add-on that is installed by placements the add-on annotations of its cluster, where there is one, and removes those
/// that the cluster does not have; kStrict: but not those that belong to the add-on itself (its values, its installation
/// namespace).
void take_annotations(Json& addon, const Json& declaration, const ObjectReader& objects,
                      rollout::Semantics conduct = rollout::Semantics::kStrict);

/// The same of all add-ons of a cluster.
Pass sync_annotations(const ObjectReader& objects, std::string_view cluster, rollout::Semantics conduct);

}  // namespace fleetadm::addon
