// Which add-ons on which clusters: what addon enable and addon disable have in common.
#pragma once

#include "commands/framework/targets.h"

namespace fleetadm::commands {

struct AddonTargets {
  std::vector<std::string> names;  // --names; others are arguments
  TargetOptions where;

  /// Those of the flag, then those of the arguments, each once.
  std::vector<std::string> all_names(const std::vector<std::string>& args) const;
};

void bind_addon_targets(FlagSet& flags, AddonTargets& targets);
/// Names there are, and exactly one way of naming clusters.
Status validate_addon_targets(const AddonTargets& targets, const std::vector<std::string>& args);

}  // namespace fleetadm::commands
