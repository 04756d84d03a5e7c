// The course that an add-on's roll-out would take if every cluster succeeded at once: the rules of the hub's controllers, run on
// a copy of its objects until nothing changes any more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/addon/rules/rollout_standing.h"

namespace fleetadm::addon {

struct PlannedCluster {
  std::string cluster;
  std::string placement;                   // "namespace/name"; empty: none selects it
  std::optional<rollout::GroupKey> group;  // of a placement that has decided on it
  std::size_t step = 0;                    // from 1: those of one step begin at once
  Duration after{};                        // at least, from the beginning: the soaks before it
};

struct AddonRolloutPlan {
  std::vector<PlannedCluster> clusters;  // who gets another configuration, in the order in which they begin
  std::vector<std::string> waiting;      // who would never get it: a configuration is missing, a limit is exceeded
  std::size_t unchanged = 0;             // who has everything already
  std::optional<ConfigKey> missing;      // a configuration that does not exist
  MemoryObjects outcome;                 // the objects when it is over

  std::size_t steps() const { return clusters.empty() ? 0 : clusters.back().step; }
  /// How many begin in the first step.
  std::size_t at_once() const;
};

/// How far a course is followed: whole, or only to the clusters that begin at once. All others are then of the second step, which
/// costs as much as two passes of the hub, however slow the strategy is.
enum class Course { kWhole, kFirstStep };

/// As though it were not paused. The errors are those of rollout_standing().
Result<AddonRolloutPlan> plan_addon_rollout(MemoryObjects objects, const std::string& addon, const KnownTypes& known, Instant now,
                                            Course course = Course::kWhole);

}  // namespace fleetadm::addon
