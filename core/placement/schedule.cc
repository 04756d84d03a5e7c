#include "core/placement/schedule.h"

#include <algorithm>

#include "core/placement/stages.h"

namespace fleetadm::placement {
namespace {

std::vector<std::string> names_of(const World& world, const std::vector<Slot>& slots) {
  std::vector<std::string> names;
  names.reserve(slots.size());
  for (const Slot slot : slots) names.push_back(world.name_of(slot));
  return names;
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : ",") + parts[i];
  return out;
}

bool aborted(const Verdict& verdict) { return verdict.code == Code::kError || verdict.code == Code::kMisconfigured; }

struct Selection {
  std::vector<Slot> clusters;  // best first
  std::int64_t unscheduled = 0;
};

// Filters, scores and cuts (A.2, steps 3 to 6). An aborted pass selects nothing.
Verdict select(const PassContext& context, std::vector<Slot> clusters, Pass& pass, Selection& selection) {
  const bool record = context.options.record;
  const auto keep = [&](std::string name) {
    if (!record) return;
    FilterRecord filter{std::move(name), names_of(context.world, clusters)};
    std::sort(filter.clusters.begin(), filter.clusters.end());
    pass.filters.push_back(std::move(filter));
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
    if (record) {
      std::sort(scores.begin(), scores.end());
      pass.prioritizers.push_back({prioritizer.name, prioritizer.weight, std::move(scores)});
    }
  }

  std::vector<std::uint32_t> order(clusters.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (sums[a] != sums[b]) return sums[a] > sums[b];
    return context.world.name_of(clusters[a]) < context.world.name_of(clusters[b]);
  });
  pass.sums.reserve(clusters.size());
  for (std::size_t i = 0; i < clusters.size(); ++i) pass.sums.emplace_back(context.world.name_of(clusters[i]), sums[i]);
  std::sort(pass.sums.begin(), pass.sums.end());

  std::size_t take = order.size();
  if (const auto& wanted = context.placement.number_of_clusters) {
    take = std::min(take, static_cast<std::size_t>(*wanted));
    selection.unscheduled = *wanted - static_cast<std::int64_t>(take);
  }
  for (std::size_t i = 0; i < take; ++i) selection.clusters.push_back(clusters[order[i]]);
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
              "None of ManagedClusterSets [" + join(placement.cluster_sets) + "] is bound to placement namespace");
  }
  if (eligible.clusters.empty()) {
    return no("AllManagedClusterSetsEmpty", "All ManagedClusterSets [" + join(eligible.sets) + "] have no member ManagedCluster");
  }
  if (verdict.code == Code::kError) return no("NotAllDecisionsScheduled", verdict.message);
  if (selection.clusters.empty()) return no("NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate");
  if (selection.unscheduled == 0)
    return {"PlacementSatisfied", "True", "AllDecisionsScheduled", "All cluster decisions scheduled"};
  return no("NotAllDecisionsScheduled", std::to_string(selection.unscheduled) + " cluster decisions unscheduled");
}

}  // namespace

Pass schedule(const World& world, const Placement& placement, Instant now, const PassOptions& options) {
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
  pass.verdict = select(context, eligible.clusters, pass, selection);
  pass.selected = names_of(world, selection.clusters);
  pass.selected_count = static_cast<std::int64_t>(pass.selected.size());
  if (Verdict verdict = group_decisions(context, selection.clusters, pass); aborted(verdict)) pass.verdict = std::move(verdict);
  pass.conditions = {misconfigured_condition(pass.verdict), satisfied_condition(placement, eligible, pass.verdict, selection)};
  for (const auto& [name, decision] : context.own) {
    const bool wanted =
        std::any_of(pass.decisions.begin(), pass.decisions.end(), [&](const WantedDecision& one) { return one.name == name; });
    if (!wanted) pass.surplus.emplace_back(name);
  }
  return pass;
}

}  // namespace fleetadm::placement
