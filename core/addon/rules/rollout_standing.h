// Where each cluster is in the roll-out of an add-on's configurations, by the rules that the hub rolls them out by
// (docs/reference/addon.md#roll-out).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/rollout_revisions.h"
#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::addon {

struct ClusterStanding {
  std::string cluster;
  std::string placement;                   // "namespace/name"; empty: none selects it
  std::optional<rollout::GroupKey> group;  // of a placement that has decided on it
  work::Phase phase = work::Phase::kWaiting;
  std::optional<Instant> since;
  std::optional<Instant> until;  // when its deadline or its soak ends
  std::string why;               // empty where it is done
};

struct RolloutStanding {
  std::vector<ClusterStanding> clusters;  // by placement as the declaration lists them, then by name
  bool breach = false;                    // more clusters failed than a strategy tolerates: nothing new is started
  /// A configuration that does not exist: who is to have it waits for it, however long that takes.
  std::optional<ConfigKey> missing;
  bool paused = false;
  RevisionConfigs configs;  // what the specification names, with the contents that the objects have

  std::size_t count(work::Phase phase) const;
};

/// As the hub's next pass would find it, whatever the declaration's status says. kNotFound: there is no such add-on.
/// kUnsupported: its own manager rolls it out. kInvalid, kNotFound: a placement or its strategy cannot be followed.
Result<RolloutStanding> rollout_standing(const ObjectReader& objects, std::string_view addon, const KnownTypes& known,
                                         Instant now);

}  // namespace fleetadm::addon
