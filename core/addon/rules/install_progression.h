// The status of a ClusterManagementAddOn that its specification asks for: the default configurations, and those of each
// placement.
#pragma once

#include "core/addon/rules/config_reference.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// Sets status.defaultConfigReferences and status.installProgressions; the progressions of placements by which the add-on's own
/// manager installs it are left to that. What is known of a reference stays, and a progression's conditions where it has no new
/// reference. Hashes are set_desired_hashes()' affair.
void set_progressions(Json& declaration);

/// Sets the hashes of all references of a declaration's status to those of the objects as they are. An object that does not exist
/// has the empty hash; what is there stays for types that are not known.
void set_desired_hashes(Json& declaration, const ObjectReader& objects, const KnownTypes& known);

/// Sets lastObservedGeneration of a ManagedClusterAddOn's references, and, as upstream does, the hashes of those that its own
/// specification names (kUpstream; kStrict leaves hashes to the roll-out).
void observe_configs(Json& addon, const ObjectReader& objects, const KnownTypes& known, rollout::Semantics conduct);

}  // namespace fleetadm::addon
