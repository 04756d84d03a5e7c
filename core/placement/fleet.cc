#include "core/placement/fleet.h"

#include <algorithm>

#include "core/placement/decode.h"

namespace fleetadm::placement {
namespace {

bool asks_cel(const Placement& placement) {
  return std::any_of(placement.predicates.begin(), placement.predicates.end(),
                     [](const Predicate& one) { return !one.cel.empty(); });
}

bool reads_score(const Placement& placement, std::string_view resource) {
  return std::any_of(placement.prioritizers.begin(), placement.prioritizers.end(),
                     [&](const PrioritizerConfig& one) { return one.addon && one.addon->resource == resource; });
}

std::string key_of(std::string_view ns, std::string_view name) { return std::string(ns) + "/" + std::string(name); }

}  // namespace

void Fleet::note(Kind kind, kube::CachedPtr before, kube::CachedPtr after) {
  const std::lock_guard lock(inbox_mutex_);
  inbox_.push_back({kind, std::move(before), std::move(after)});
  pending_ = true;
}

std::set<std::string> Fleet::catch_up() {
  if (!pending_) return {};
  // The world is locked before the inbox is emptied: two callers cannot take their batches in the wrong order.
  const std::unique_lock lock(mutex_);
  std::vector<Change> batch;
  {
    const std::lock_guard inbox(inbox_mutex_);
    batch.swap(inbox_);
    pending_ = false;
  }
  Touched touched;
  for (const Change& change : batch) take(change, touched);
  return affected_by(std::move(touched));
}

std::optional<Fleet::Run> Fleet::run_from(const std::string& key, Instant now, const PassOptions& options) const {
  const auto [ns, name] = kube::split_key(key);
  const std::shared_lock lock(mutex_);
  const auto space = placements_.find(ns);
  if (space == placements_.end()) return std::nullopt;
  const auto at = space->second.find(name);
  if (at == space->second.end()) return std::nullopt;
  Run run{schedule(world_, at->second.placement, now, options), at->second.resource_version, {}};
  for (const auto& [decision, known] : world_.own_decisions(ns, name)) run.decisions.emplace(decision, known->resource_version);
  return run;
}

std::optional<Pass> Fleet::run(const std::string& key, Instant now, const PassOptions& options) const {
  auto run = run_from(key, now, options);
  if (!run) return std::nullopt;
  return std::move(run->pass);
}

std::vector<std::string> Fleet::placements() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [ns, by_name] : placements_) {
    for (const auto& [name, placement] : by_name) keys.push_back(key_of(ns, name));
  }
  return keys;
}

// Which placements the touched sets, bindings and scores are those of, as the world is after the batch: who came to a set, a
// binding or a namespace within the batch is there by a change of its own.
Fleet::Keys Fleet::affected_by(Touched touched) const {
  struct Space {
    std::set<std::string> bindings;
    std::set<std::string> unseen_bindings;
    std::set<std::string> scores;
  };
  std::map<std::string, Space> spaces;
  for (const auto& [ns, binding] : touched.bindings) spaces[ns].bindings.insert(binding);
  for (const std::string& set : touched.sets) {
    for (const auto& [ns, binding] : world_.bindings_of_set(set)) spaces[ns].bindings.insert(binding);
  }
  for (const std::string& set : touched.unseen_sets) {
    for (const auto& [ns, binding] : world_.bindings_of_set(set)) spaces[ns].unseen_bindings.insert(binding);
  }
  for (const auto& [set, score] : touched.scores) {
    for (const auto& [ns, binding] : world_.bindings_of_set(set)) spaces[ns].scores.insert(score);
  }
  for (const auto& [ns, space] : spaces) {
    const auto known = placements_.find(ns);
    if (known == placements_.end()) continue;
    for (const auto& [name, entry] : known->second) {
      const Placement& placement = entry.placement;
      const auto uses = [&](const std::set<std::string>& bindings) {
        if (placement.cluster_sets.empty()) return !bindings.empty();
        return std::any_of(placement.cluster_sets.begin(), placement.cluster_sets.end(),
                           [&](const std::string& set) { return bindings.contains(set); });
      };
      const bool affected =
          uses(space.bindings) || (asks_cel(placement) && (uses(space.unseen_bindings) || !space.scores.empty())) ||
          std::any_of(space.scores.begin(), space.scores.end(), [&](const auto& score) { return reads_score(placement, score); });
      if (affected) touched.keys.insert(key_of(ns, name));
    }
  }
  return std::move(touched.keys);
}

void Fleet::take(const Change& change, Touched& touched) {
  switch (change.kind) {
    case Kind::kPlacement: return take_placement(change, touched);
    case Kind::kCluster: return take_cluster(change, touched);
    case Kind::kSet: return take_set(change, touched);
    case Kind::kBinding: return take_binding(change, touched);
    case Kind::kDecision: return take_decision(change, touched);
    case Kind::kScore: return take_score(change, touched);
  }
}

void Fleet::take_placement(const Change& change, Touched& touched) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (change.after) {
    placements_[ns].insert_or_assign(name, Known{decode_placement(change.after->decode()), change.after->resource_version()});
    touched.keys.insert(key_of(ns, name));
  } else if (const auto space = placements_.find(ns); space != placements_.end()) {
    space->second.erase(name);
    if (space->second.empty()) placements_.erase(space);
  }
}

void Fleet::take_cluster(const Change& change, Touched& touched) {
  const std::string name = (change.after ? change.after : change.before)->key();
  const Cluster* known = world_.cluster(name);
  std::optional<Cluster> now;
  if (change.after) {
    now = decode_cluster(change.after->decode());
    now->object.cached = change.after;
  }
  // What no stage reads (heartbeats, most of the status) concerns only placements that ask CEL.
  const bool visible = known == nullptr || !now || !(*known == *now);
  std::set<std::string>& sets = visible ? touched.sets : touched.unseen_sets;
  if (known != nullptr) {
    for (std::string& set : world_.sets_of(*known)) sets.insert(std::move(set));
  }
  if (now && visible) {
    for (std::string& set : world_.sets_of(*now)) sets.insert(std::move(set));
  }
  if (!now) {
    world_.remove_cluster(name);
  } else if (visible) {
    world_.put(std::move(*now));
  } else {
    world_.renew(name, std::move(now->object));
  }
}

void Fleet::take_set(const Change& change, Touched& touched) {
  const std::string name = (change.after ? change.after : change.before)->key();
  if (!change.after) {
    world_.remove_set(name);
  } else {
    Set set = decode_set(change.after->decode());
    if (const Set* known = world_.set(name); known != nullptr && *known == set) return;
    world_.put(std::move(set));
  }
  touched.sets.insert(name);
  // Eligibility goes by the binding's own name, triggers by the set it names: a binding at odds with itself counts for both.
  for (const auto& [ns, by_name] : placements_) {
    if (world_.bindings(ns).contains(name)) touched.bindings.emplace(ns, name);
  }
}

void Fleet::take_binding(const Change& change, Touched& touched) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (!change.after) {
    world_.remove_binding(ns, name);
  } else {
    Binding binding = decode_binding(change.after->decode());
    const auto& known = world_.bindings(ns);
    if (const auto at = known.find(name); at != known.end() && at->second == binding) return;
    world_.put(std::move(binding));
  }
  touched.bindings.emplace(ns, name);
}

void Fleet::take_decision(const Change& change, Touched& touched) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (change.before) {
    if (const std::string placement = decode_decision(change.before->decode()).placement; !placement.empty()) {
      touched.keys.insert(key_of(ns, placement));
    }
  }
  if (!change.after) {
    world_.remove_decision(ns, name);
    return;
  }
  Decision decision = decode_decision(change.after->decode());
  if (!decision.placement.empty()) touched.keys.insert(key_of(ns, decision.placement));
  world_.put(std::move(decision));
}

void Fleet::take_score(const Change& change, Touched& touched) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (change.after) {
    world_.put(decode_score(change.after->decode()));
  } else {
    world_.remove_score(ns, name);
  }
  const Cluster* cluster = world_.cluster(ns);
  if (cluster == nullptr) return;
  for (const std::string& set : world_.sets_of(*cluster)) touched.scores.emplace(set, name);
}

}  // namespace fleetadm::placement
