// Installation by placements: spec.installStrategy of a ClusterManagementAddOn, and what changing it takes away.
#pragma once

#include "commands/framework/targets.h"
#include "core/work/plan/impact.h"

namespace fleetadm::commands {

/// Installs by the placement, too: Manual becomes Placements. `configs` (as spec.configs has them) replace those of the placement
/// unless they are empty.
void add_placement(Json& declaration, const PlacementRef& placement, const Json& configs);
/// False where it was not installed by this placement. One without any placement left is installed nowhere.
bool remove_placement(Json& declaration, const PlacementRef& placement);

/// The clusters that lose the add-on when its declaration changes: those that have it, and that no placement of the strategy
/// selects any more.
Result<work::Impact> strategy_impact(const kube::Client& hub, const Json& before, const Json& after);

}  // namespace fleetadm::commands
