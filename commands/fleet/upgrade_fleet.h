// upgrade agent from the hub: the agents of several clusters, in batches of the rollout engine.
#pragma once

#include <string>
#include <vector>

#include "commands/fleet/upgrade.h"
#include "commands/framework/strategy.h"
#include "commands/framework/targets.h"

namespace fleetadm::commands {

struct UpgradeFleetOptions {
  UpgradeOptions upgrade;
  TargetOptions targets;
  StrategyOptions strategy;
  Duration patience{};  // with one cluster, unless the strategy has a deadline
};

/// kUsage: the strategy does not go with the targets.
Status validate_fleet(const UpgradeFleetOptions& options);

/// Works are written on the hub, a batch at a time, and deleted again where the new agent runs. A run that was stopped is
/// continued by the next.
Result<Report> upgrade_fleet(Context& context, const UpgradeFleetOptions& options);

}  // namespace fleetadm::commands
