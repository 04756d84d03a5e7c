// The stages of a pass (internal to core/placement): each takes values of the stage before and answers its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/placement/engine/schedule.h"

namespace fleetadm::placement {

inline constexpr std::string_view kPredicatePlugin = "Predicate";
inline constexpr std::string_view kTaintPlugin = "TaintToleration";
inline constexpr std::size_t kDecisionsPerObject = 100;

/// What a pass knows besides the placement: made once, read by the stages.
struct PassContext {
  const FleetState& world;
  const Placement& placement;
  Instant now;
  const PassOptions& options;
  /// The placement's own decisions of the world, and per slot how often they name it.
  std::map<std::string_view, const FleetState::KnownDecision*> own;
  std::vector<std::uint32_t> own_count;

  bool decided(Slot slot) const { return own_count[slot] != 0; }
};

struct Eligible {
  bool any_binding = false;
  std::vector<std::string> sets;                      // by name
  std::shared_ptr<const std::vector<Slot>> clusters;  // by name; never null
  std::string failure;
};
Eligible eligible_clusters(const PassContext& context);

// From here on lists of clusters are in the order of names.

/// Keeps the clusters that match a predicate, in order.
Verdict filter_predicates(const PassContext& context, std::vector<Slot>& clusters);
/// Keeps the clusters whose taints are all tolerated, in order.
Verdict filter_taints(const PassContext& context, std::vector<Slot>& clusters);
/// When the first toleration of a decided cluster runs out.
std::optional<Instant> toleration_requeue(const PassContext& context);

struct WeightedPrioritizer {
  std::string name;
  std::int64_t weight = 0;
  std::optional<AddonCoordinate> addon;
};
/// The prioritizers of a policy in order of name; a verdict other than success where the policy is wrong.
Verdict prioritizers_of(const Placement& placement, std::vector<WeightedPrioritizer>& into);

/// Adds the weighted scores to `sums` (one a cluster, in order of `clusters`). `record` may be null; it comes out by name.
Verdict score_clusters(const PassContext& context, const WeightedPrioritizer& prioritizer, const std::vector<Slot>& clusters,
                       std::vector<std::int64_t>& sums, Scores* record, std::optional<Instant>& expires_at);

/// The first `take` positions of the sums by value, highest first, then by position.
std::vector<std::uint32_t> best_of(const std::vector<std::int64_t>& sums, std::size_t take);

/// The largest size of a group for `total` clusters; nullopt: the text is no percentage.
std::optional<std::int64_t> group_length(const GroupSize& size, std::int64_t total);
/// Cuts the selection into groups and PlacementDecisions. On an error the groups before it stay.
Verdict group_decisions(const PassContext& context, const std::vector<Slot>& selected, Pass& pass);

}  // namespace fleetadm::placement
