// The flags of a rollout strategy, which are the same wherever a set is made or changed.
#pragma once

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
  bool allow_missing = false;  // groups in `first` that the placement does not have
  std::string success_when;    // "applied", "available", "ready"; empty: as it is, or ready for a new set

  bool any() const;
};

/// --strategy, --max-concurrency, --max-failures, --min-success-time, --progress-deadline, --first, --allow-missing.
void bind_rollout_strategy(FlagSet& flags, StrategyOptions& options);
/// Those, and --success-when.
void bind_strategy(FlagSet& flags, StrategyOptions& options);

/// The rolloutStrategy that the flags make of the present one (null: there is none): with --strategy they say all of it, without
/// it they change what they name of a strategy of their kind and leave the rest. kUsage where they do not go together.
Result<Json> strategy_over(const StrategyOptions& options, const Json& present);

/// kNotFound where --first names a decision group that a placement of the set does not have: without it nothing would come first.
/// `placement`: only this one's strategy is changed; empty: that of each.
Status check_first(const kube::Client& hub, const Json& set, const std::string& placement, const StrategyOptions& options);

/// What the set's rollout waits for, where --success-when is given; `is_new`: else that its objects are ready.
void edit_success(Json& set, const StrategyOptions& options, bool is_new);

/// Makes `placement` the one that a set's spec.placementRefs name, unless they name it already (empty: they stay), and gives them
/// the strategy that the flags ask for. Where the placement changes, the strategy goes along.
Status edit_placement_refs(Json& set, const std::string& placement, const StrategyOptions& options);

}  // namespace fleetadm::commands
