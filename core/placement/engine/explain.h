// Why a placement takes a cluster or does not: the stage that dropped it, the rule's own text, its scores, and the smallest
// change that would admit it. The scheduler itself is asked at every step, so an explanation cannot disagree with a decision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/placement/engine/change.h"
#include "core/placement/engine/schedule.h"

namespace fleetadm::placement {

/// Where a cluster's way ended.
enum class Stage {
  kSelected,
  kScheduling,  // the placement is not scheduled at all
  kCluster,     // the cluster is being deleted
  kBinding,     // it is in no set that is bound, and named where sets are named
  kPredicate,
  kTaint,
  kScore,  // the prioritizers could not be run
  kLimit,  // numberOfClusters
  kGroup,  // it was selected, but the decision groups could not be made
};
/// "Selected", "SetBinding", "Predicate", …
std::string_view stage_word(Stage stage);

struct Share {
  std::string prioritizer;
  std::int64_t weight = 0;
  std::optional<std::int64_t> score;  // absent: it has none, and stays in the middle
};

struct Explained {
  std::string cluster;
  Stage stage = Stage::kSelected;
  std::string rule;      // what dropped it, in the words of the rule
  bool decided = false;  // it is in the placement's decisions today
  std::vector<Share> shares;
  std::optional<std::int64_t> sum;
  std::optional<std::int64_t> rank;  // from 1, among the clusters that were scored
  std::optional<int> group;
  std::string group_name;
  /// Made together they admit the cluster; empty: it is selected, or no such change is known.
  std::vector<Change> changes;
  /// The other way in for a cluster that was dropped by the limit: more points.
  std::optional<Change> alternative;
  /// The fleet is too large to try the changes with all clusters: numberOfClusters may still be in the way.
  bool unranked = false;
};

struct Explanation {
  Pass pass;                        // recorded
  std::vector<Explained> clusters;  // selected first by rank, then the ranked ones, then by name
};

struct ExplainOptions {
  const CelEvaluator* cel = nullptr;
  std::string cluster;  // only this one; empty: all
  /// How many clusters may be looked at in passes that only try a change.
  std::size_t budget = 5'000'000;
};

/// The placement is one of the objects.
Explanation explain(const Objects& objects, const Objects::Key& placement, Instant now, const ExplainOptions& options = {});

}  // namespace fleetadm::placement
