#include "core/placement/engine/schedule.h"

#include <algorithm>
#include <unordered_set>

#include "core/placement/engine/stages.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::placement {
namespace {

std::vector<std::string> names_of(const FleetState& world, const std::vector<Slot>& slots) {
  std::vector<std::string> names;
  names.reserve(slots.size());
  for (const Slot slot : slots) names.push_back(world.name_of(slot));
  return names;
}

constexpr std::size_t kMaxNote = 1000;
constexpr std::size_t kMaxMessage = 32768;  // of a condition; with more, the API server refuses the status

// As much of a message as fits, in whole characters.
std::string fitting(std::string message) {
  constexpr std::string_view kMore = "...";
  if (message.size() <= kMaxMessage) return message;
  std::size_t end = kMaxMessage - kMore.size();
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) --end;
  message.resize(end);
  return message.append(kMore);
}

bool aborted(const Verdict& verdict) { return verdict.code == Code::kError || verdict.code == Code::kMisconfigured; }

struct Selection {
  std::vector<Slot> clusters;  // best first
  std::int64_t unscheduled = 0;
};

// Filters, scores and cuts (docs/reference/placement.md#the-scheduling-pass). An aborted pass selects nothing.
Verdict select(const PassContext& context, std::vector<Slot> clusters, Pass& pass, Selection& selection) {
  const bool record = context.options.record;
  const auto keep = [&](std::string name) {
    if (record) pass.filters.push_back({std::move(name), names_of(context.world, clusters)});
  };
  if (const auto& wanted = context.placement.number_of_clusters; wanted && *wanted < 0) {
    return {Code::kMisconfigured, {}, "numberOfClusters must not be negative: " + std::to_string(*wanted)};
  }
  if (Verdict verdict = filter_predicates(context, clusters); aborted(verdict)) return verdict;
  keep(std::string(kPredicatePlugin));
  if (Verdict verdict = filter_taints(context, clusters); aborted(verdict)) return verdict;
  keep(std::string(kPredicatePlugin) + "," + std::string(kTaintPlugin));

  std::vector<WeightedPrioritizer> prioritizers;
  if (Verdict verdict = prioritizers_of(context.placement, prioritizers); aborted(verdict)) return verdict;
  std::vector<std::int64_t> sums(clusters.size(), 0);
  Verdict outcome;
  for (const WeightedPrioritizer& prioritizer : prioritizers) {
    Scores scores;
    Verdict verdict = score_clusters(context, prioritizer, clusters, sums, record ? &scores : nullptr, pass.scores_expire_at);
    if (aborted(verdict)) return verdict;
    if (verdict.code == Code::kWarning && outcome.code == Code::kSuccess) outcome = std::move(verdict);
    if (record) pass.prioritizers.push_back({prioritizer.name, prioritizer.weight, std::move(scores)});
  }

  std::size_t take = clusters.size();
  if (const auto& wanted = context.placement.number_of_clusters) {
    take = std::min(take, static_cast<std::size_t>(*wanted));
    selection.unscheduled = *wanted - static_cast<std::int64_t>(take);
  }
  selection.clusters.reserve(take);
  for (const std::uint32_t i : best_of(sums, take)) selection.clusters.push_back(clusters[i]);
  for (std::size_t i = 0; record && i < clusters.size(); ++i) pass.sums.emplace_back(context.world.name_of(clusters[i]), sums[i]);
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const std::string item = context.world.name_of(clusters[i]) + ":" + std::to_string(sums[i]) + " ";
    if (pass.score_note.size() + item.size() > kMaxNote) {
      pass.score_note += "......";
      break;
    }
    pass.score_note += item;
  }
  pass.requeue_at = toleration_requeue(context);
  return outcome;
}

ConditionValue misconfigured_condition(const Verdict& verdict) {
  if (verdict.code == Code::kMisconfigured) {
    return {"PlacementMisconfigured", "True", "Misconfigured", verdict.plugin + ":" + verdict.message};
  }
  return {"PlacementMisconfigured", "False", "Succeedconfigured", "Placement configurations check pass"};
}

ConditionValue satisfied_condition(const Placement& placement, const Eligible& eligible, const Verdict& verdict,
                                   const Selection& selection) {
  const auto no = [](std::string reason, std::string message) {
    return ConditionValue{"PlacementSatisfied", "False", std::move(reason), std::move(message)};
  };
  if (!eligible.any_binding) {
    return no("NoManagedClusterSetBindings", "No valid ManagedClusterSetBindings found in placement namespace");
  }
  if (eligible.sets.empty()) {
    return no("NoIntersection",
              "None of ManagedClusterSets [" + joined(placement.cluster_sets) + "] is bound to placement namespace");
  }
  if (eligible.clusters->empty()) {
    return no("AllManagedClusterSetsEmpty",
              "All ManagedClusterSets [" + joined(eligible.sets) + "] have no member ManagedCluster");
  }
  if (verdict.code == Code::kError) return no("NotAllDecisionsScheduled", verdict.message);
  if (selection.clusters.empty()) return no("NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate");
  if (selection.unscheduled == 0)
    return {"PlacementSatisfied", "True", "AllDecisionsScheduled", "All cluster decisions scheduled"};
  return no("NotAllDecisionsScheduled", std::to_string(selection.unscheduled) + " cluster decisions unscheduled");
}

}  // namespace

std::vector<std::uint32_t> best_of(const std::vector<std::int64_t>& sums, std::size_t take) {
  std::vector<std::uint32_t> order;
  take = std::min(take, sums.size());
  if (take == 0) return order;
  const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  const std::uint64_t range = static_cast<std::uint64_t>(*most) - static_cast<std::uint64_t>(*least);
  if (range < 4 * sums.size() + 1024) {
    // Sums repeat: count them, and place the first of them at once.
    const auto below_best = [&](std::int64_t sum) {
      return static_cast<std::size_t>(static_cast<std::uint64_t>(*most) - static_cast<std::uint64_t>(sum));
    };
    std::vector<std::uint32_t> place(range + 1, 0);
    for (const std::int64_t sum : sums) ++place[below_best(sum)];
    std::uint32_t next = 0;
    std::size_t worst = 0;  // the last sum of which any is taken
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (next < take) worst = i;
      const std::uint32_t count = place[i];
      place[i] = next;
      next += count;
    }
    order.resize(take);
    for (std::uint32_t i = 0; i < sums.size(); ++i) {
      const std::size_t at = below_best(sums[i]);
      if (at > worst) continue;
      if (const std::uint32_t to = place[at]++; to < take) order[to] = i;
    }
    return order;
  }
  order.resize(sums.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto better = [&](std::uint32_t a, std::uint32_t b) { return sums[a] != sums[b] ? sums[a] > sums[b] : a < b; };
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(take);
  std::nth_element(order.begin(), end - 1, order.end(), better);
  std::sort(order.begin(), end, better);
  order.resize(take);
  return order;
}

Pass schedule(const FleetState& world, const Placement& placement, Instant now, const PassOptions& options) {
  Pass pass;
  if (placement.deleting || placement.disabled) {
    pass.skipped = true;
    return pass;
  }
  PassContext context{world, placement, now, options, world.own_decisions(placement.ns, placement.name), {}};
  context.own_count.assign(world.slots(), 0);
  for (const auto& [name, decision] : context.own) {
    for (const Slot slot : decision->clusters) ++context.own_count[slot];
  }

  Eligible eligible = eligible_clusters(context);
  if (!eligible.failure.empty()) {
    pass.failure = std::move(eligible.failure);
    return pass;
  }
  Selection selection;
  pass.verdict = select(context, *eligible.clusters, pass, selection);
  pass.selected = names_of(world, selection.clusters);
  pass.selected_count = static_cast<std::int64_t>(pass.selected.size());
  if (Verdict verdict = group_decisions(context, selection.clusters, pass); aborted(verdict)) pass.verdict = std::move(verdict);
  pass.conditions = {misconfigured_condition(pass.verdict), satisfied_condition(placement, eligible, pass.verdict, selection)};
  for (ConditionValue& one : pass.conditions) one.message = fitting(std::move(one.message));
  std::unordered_set<std::string_view> wanted;
  for (const WantedDecision& one : pass.decisions) wanted.insert(one.name);
  for (const auto& [name, decision] : context.own) {
    if (!wanted.contains(name)) pass.surplus.emplace_back(name);
  }
  return pass;
}

}  // namespace fleetadm::placement
