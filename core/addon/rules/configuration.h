// The roll-out of configurations: which ManagedClusterAddOns get their desired references now, and what is told of it
// (docs/reference/addon.md#roll-out).
#pragma once

#include "core/addon/rules/config_reference.h"
#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// One step for a declaration as it is: status.configReferences and Configured of its add-ons, the conditions and the applied
/// configurations of its progressions.
/// kStrict: a configuration without a hash is not rolled out; an add-on whose placement has no progression yet waits; content
/// that changes under the same name is rolled out as a new name is, also where an add-on names the configuration itself.
Pass configure_addons(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now,
                      rollout::Semantics conduct);

/// The progressions, their hashes and one step of the roll-out, of one view of the objects: what the hub runs. Of an add-on that
/// is not managed here only the default configurations are told, as upstream does.
Pass roll_out_addon(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now);

}  // namespace fleetadm::addon
