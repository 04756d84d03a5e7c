// Eligibility, predicates, taints and tolerations (docs/reference/placement.md#eligible-clusters).
#include <algorithm>

#include "core/placement/engine/decode.h"
#include "core/placement/engine/stages.h"

namespace fleetadm::placement {
namespace {

// Whether one toleration speaks of a taint at all (its seconds aside).
bool speaks_of(const Toleration& toleration, const Taint& taint) {
  static constexpr auto effect_name = [](const Taint& of) -> std::string_view {
    switch (of.effect) {
      case Effect::kNoSelect: return "NoSelect";
      case Effect::kPreferNoSelect: return "PreferNoSelect";
      case Effect::kNoSelectIfNew: return "NoSelectIfNew";
      default: return of.other_effect;
    }
  };
  if (!toleration.effect.empty() && toleration.effect != effect_name(taint)) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

// Saturates: a toleration of 2^63 seconds is one for ever.
Instant end_of(Instant added, std::int64_t seconds) {
  const std::int64_t since = added.time_since_epoch().count();
  std::int64_t length = 0;
  std::int64_t end = 0;
  if (__builtin_mul_overflow(seconds, std::int64_t{1'000'000'000}, &length) || __builtin_add_overflow(since, length, &end)) {
    return seconds > 0 ? Instant::max() : Instant::min();
  }
  return Instant(Duration(end));
}

struct Tolerated {
  bool yes = false;
  std::optional<Instant> until;  // where the deciding toleration has an end
};

Tolerated tolerate(const PassContext& context, const Taint& taint, bool decided) {
  if (taint.effect == Effect::kPreferNoSelect) return {true, {}};
  if (taint.effect == Effect::kNoSelectIfNew && decided) return {true, {}};
  for (const Toleration& toleration : context.placement.tolerations) {
    if (!speaks_of(toleration, taint)) continue;
    if (!toleration.seconds) return {true, {}};
    if (!taint.added) continue;
    const Instant end = end_of(*taint.added, *toleration.seconds);
    if (end == Instant::max()) return {true, {}};
    if (context.now < end) return {true, end};
  }
  return {};
}

}  // namespace

Eligible eligible_clusters(const PassContext& context) {
  Eligible eligible;
  eligible.clusters = std::make_shared<const std::vector<Slot>>();
  const FleetState& world = context.world;
  const std::vector<std::string>& asked = context.placement.cluster_sets;
  std::vector<const Set*> sets;
  for (const auto& [name, binding] : world.bindings(context.placement.ns)) {
    const Set* set = world.set(name);
    if (set == nullptr) continue;
    eligible.any_binding = true;
    if (!asked.empty() && std::find(asked.begin(), asked.end(), name) == asked.end()) continue;
    sets.push_back(set);
    eligible.sets.push_back(name);
  }
  for (const Set* set : sets) {
    if (const std::string error = FleetState::set_error(*set); !error.empty()) {
      eligible.failure = "failed to get clusters from ClusterSet " + go_quote(set->name) + ": " + error;
      return eligible;
    }
  }
  if (!sets.empty()) eligible.clusters = world.members(sets);
  return eligible;
}

Verdict filter_predicates(const PassContext& context, std::vector<Slot>& clusters) {
  const std::vector<Predicate>& predicates = context.placement.predicates;
  if (predicates.empty() || clusters.empty()) return {};
  const auto misconfigured = [](std::string_view message) {
    return Verdict{Code::kMisconfigured, std::string(kPredicatePlugin), std::string(message)};
  };
  // All are built before the first is asked: a broken one is never hidden by one that matches.
  std::vector<std::shared_ptr<const CelProgram>> programs;
  for (const Predicate& predicate : predicates) {
    if (!predicate.labels.error().empty()) return misconfigured(predicate.labels.error());
    if (!predicate.claims.error().empty()) return misconfigured(predicate.claims.error());
    programs.emplace_back();
    if (predicate.cel.empty()) continue;
    if (context.options.cel == nullptr) return misconfigured(kCelUnsupported);
    auto program = context.options.cel->compile(predicate.cel);
    if (!program) return misconfigured(program.error().message);
    programs.back() = std::move(*program);
  }
  std::vector<std::uint8_t> admitted(clusters.size(), 0);
  for (std::size_t p = 0; p < predicates.size(); ++p) {
    std::vector<std::uint8_t> flags(clusters.size());
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = admitted[i] == 0 ? 1 : 0;
    context.world.match(predicates[p].labels, predicates[p].claims, clusters, flags);
    if (programs[p]) {
      const bool scores = std::any_of(predicates[p].cel.begin(), predicates[p].cel.end(),
                                      [](const std::string& text) { return text.find("scores") != std::string::npos; });
      context.world.match(programs[p], scores, clusters, flags);
    }
    for (std::size_t i = 0; i < flags.size(); ++i) admitted[i] |= flags[i];
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (admitted[i] != 0) clusters[kept++] = clusters[i];
  }
  clusters.resize(kept);
  return {};
}

Verdict filter_taints(const PassContext& context, std::vector<Slot>& clusters) {
  if (clusters.empty()) return {};
  const auto misconfigured = [](std::string_view message) {
    return Verdict{Code::kMisconfigured, std::string(kTaintPlugin), std::string(message)};
  };
  for (const Toleration& toleration : context.placement.tolerations) {
    if (toleration.key.empty() && toleration.op != "Exists")
      return misconfigured("If the key is empty, operator must be Exists.");
    if (toleration.op == "Exists" && !toleration.value.empty()) {
      return misconfigured("If the operator is Exists, the value should be empty.");
    }
  }
  std::erase_if(clusters, [&](Slot slot) {
    if (!context.world.tainted(slot)) return false;
    const std::vector<Taint>& taints = context.world.cluster(slot)->taints;
    return !std::all_of(taints.begin(), taints.end(),
                        [&](const Taint& taint) { return tolerate(context, taint, context.decided(slot)).yes; });
  });
  return {};
}

std::optional<Instant> toleration_requeue(const PassContext& context) {
  std::optional<Instant> first;
  for (const auto& [name, decision] : context.own) {
    for (const Slot slot : decision->clusters) {
      const Cluster* cluster = context.world.cluster(slot);
      if (cluster == nullptr) continue;
      std::optional<Instant> ends;
      bool all = true;
      for (const Taint& taint : cluster->taints) {
        const Tolerated tolerated = tolerate(context, taint, true);
        all = all && tolerated.yes;
        if (tolerated.until && (!ends || *tolerated.until < *ends)) ends = tolerated.until;
      }
      if (all && ends && (!first || *ends < *first)) first = ends;
    }
  }
  return first;
}

}  // namespace fleetadm::placement
