// The flags of a rollout strategy, which are the same wherever a set is made or changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

struct StrategyOptions {
  std::string kind;  // "all", "progressive", "per-group"; empty: progressive where any other flag is given
  std::string max_concurrency;
  std::string max_failures;
  std::string progress_deadline;
  Duration min_success_time = Duration(-1);
  std::vector<std::string> first;

  bool any() const;
};

/// --strategy, --max-concurrency, --max-failures, --min-success-time, --progress-deadline, --first.
void bind_strategy(FlagSet& flags, StrategyOptions& options);

/// The rolloutStrategy that the flags ask for, none where none of them is given; kUsage where they do not go together. Asks no
/// server.
Result<std::optional<Json>> strategy_of(const StrategyOptions& options);

/// Makes `placement` the one that a set's spec.placementRefs name, unless they name it already (empty: they stay), and gives them
/// the strategy. Where the placement changes, the strategy of before is kept if no other is given.
void edit_placement_refs(Json& set, const std::string& placement, const std::optional<Json>& strategy);

}  // namespace fleetadm::commands
