// The roll-out of configurations: which ManagedClusterAddOns get their desired references now, and what is told of it
// (docs/reference/addon.md#roll-out).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/config_decision.h"
#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// One step of a declaration's roll-out.
struct RolloutStep {
  std::optional<Json> declaration;  // as it is to be: the conditions and applied configurations of its progressions
  std::map<std::string, ConfigDecision> decisions;  // by cluster: of the add-ons that do not have yet what was decided
  std::set<std::string> looked_at;                  // the clusters of all add-ons that the step knew
  std::vector<Error> errors;
  std::optional<Duration> requeue_after;
};

/// One step for a declaration as it is, without progressions and hashes of its own.
/// kStrict: a configuration without a hash is not rolled out; an add-on whose placement has no progression yet waits; content
/// that changes under the same name is rolled out as a new name is, also where an add-on names the configuration itself.
RolloutStep configure_addons(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now,
                             rollout::Semantics conduct);

/// The progressions, their hashes, the revisions (rollout_revisions.h) and one step of the roll-out, of one view of the objects:
/// what the hub runs. While the declaration is annotated as paused, no cluster begins with what it does not have yet. While a
/// placement cannot be followed, nobody is configured anew, and its progression says why (Progressing False,
/// PlacementNotFollowed). Of an add-on that is not managed here only the default configurations are told, as upstream does.
RolloutStep roll_out_addon(const ObjectReader& objects, std::string_view addon, const KnownTypes& known, Instant now);

/// Whether there are steps: the hub looks after the configuration, and goes on doing so.
bool is_rolled_out(const Json& declaration);

/// A step as one who writes all of it at once does.
Pass pass_of(RolloutStep step, const ObjectReader& objects, std::string_view addon, Instant now, rollout::Semantics conduct);

}  // namespace fleetadm::addon
