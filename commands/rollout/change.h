// What a rollout is to become: manifests, placement and strategy of the command line. rollout start writes it, rollout plan shows
// what it would do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/strategy.h"
#include "commands/framework/work_guard.h"
#include "commands/rollout/view.h"

namespace fleetadm::commands {

struct ChangeOptions {
  std::vector<std::string> files;
  std::string placement;
  StrategyOptions strategy;
};

/// -f, --placement and the flags of the strategy.
void bind_change(FlagSet& flags, ChangeOptions& options);
Status validate_change(const ChangeOptions& options);

struct RolloutChange {
  RolloutName name;
  std::optional<Json> manifests;  // none: they stay
  std::string placement;          // empty: it stays
  StrategyOptions strategy;       // what its flags do not say stays

  /// kUsage where a new set would have no placement or no manifests.
  Status apply_to(Json& set) const;
};

/// Reads the files; kUsage with the file and line for what cannot be a rollout. `text`: NAME or NAMESPACE/NAME; a NAME alone is
/// in the placement's namespace where --placement names one.
Result<RolloutChange> read_change(Context& context, const ChangeOptions& options, const std::string& text);
/// kNotFound where --placement names none.
Status check_placement(const kube::Client& hub, const RolloutChange& change);

/// A set of this name that has nothing yet.
Json empty_set(const RolloutName& name);

/// What the agents would lose if the set of `now` became `wanted`.
Result<work::Removals> removals_of(const kube::Client& hub, const RolloutView& now, const Json& wanted);

}  // namespace fleetadm::commands
