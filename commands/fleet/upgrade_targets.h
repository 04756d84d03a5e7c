// The clusters whose agents are upgraded from the hub.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "commands/framework/strategy.h"
#include "commands/framework/targets.h"
#include "core/rollout/types.h"

namespace fleetadm::commands {

/// The clusters that are meant, as the rollout engine walks them.
struct FleetTargets {
  std::vector<rollout::Group> groups;
  std::vector<std::string> clusters;  // sorted
  std::vector<Error> missing;
};

/// Of names, labels, or a placement's decision groups; kNotFound where there are none, or --first names a group that is missing.
Result<FleetTargets> fleet_targets(Context& context, const kube::Client& hub, const TargetOptions& options,
                                   const StrategyOptions& strategy);

}  // namespace fleetadm::commands
