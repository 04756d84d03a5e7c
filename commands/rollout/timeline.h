// A whole rollout with assumed outcomes, from a file, drawn as a timeline.
#pragma once

#include <string>

#include "commands/framework/context.h"

namespace fleetadm::commands {

/// The file (YAML or JSON): `strategy` (a RolloutStrategy), `groups` (list of {name, clusters}), `takes` (how long a cluster
/// needs, default 1m), `clusters` (name → {takes, fails, silent}). Durations as "90s". kInvalid where it cannot be read.
Result<Report> simulate_rollout(Context& context, const std::string& path, const std::string& text);

}  // namespace fleetadm::commands
