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
  Keys affected;
  if (!pending_) return affected;
  // The world is locked before the inbox is emptied: two callers cannot take their batches in the wrong order.
  const std::unique_lock lock(mutex_);
  std::vector<Change> batch;
  {
    const std::lock_guard inbox(inbox_mutex_);
    batch.swap(inbox_);
    pending_ = false;
  }
  for (const Change& change : batch) take(change, affected);
  return affected;
}

std::optional<Pass> Fleet::run(const std::string& key, Instant now, const PassOptions& options) const {
  const auto [ns, name] = kube::split_key(key);
  const std::shared_lock lock(mutex_);
  const auto space = placements_.find(ns);
  if (space == placements_.end()) return std::nullopt;
  const auto at = space->second.find(name);
  if (at == space->second.end()) return std::nullopt;
  return schedule(world_, at->second, now, options);
}

std::vector<std::string> Fleet::placements() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [ns, by_name] : placements_) {
    for (const auto& [name, placement] : by_name) keys.push_back(key_of(ns, name));
  }
  return keys;
}

void Fleet::take(const Change& change, Keys& affected) {
  switch (change.kind) {
    case Kind::kPlacement: return take_placement(change, affected);
    case Kind::kCluster: return take_cluster(change, affected);
    case Kind::kSet: return take_set(change, affected);
    case Kind::kBinding: return take_binding(change, affected);
    case Kind::kDecision: return take_decision(change, affected);
    case Kind::kScore: return take_score(change, affected);
  }
}

void Fleet::affected_by_binding(std::string_view ns, std::string_view name, Keys& affected, Filter filter) const {
  const auto space = placements_.find(ns);
  if (space == placements_.end()) return;
  for (const auto& [placement_name, placement] : space->second) {
    const auto& sets = placement.cluster_sets;
    if (!sets.empty() && std::find(sets.begin(), sets.end(), name) == sets.end()) continue;
    if (filter == nullptr || filter(placement)) affected.insert(key_of(ns, placement_name));
  }
}

void Fleet::affected_by_set(std::string_view set, Keys& affected, Filter filter) const {
  for (const auto& [ns, name] : world_.bindings_of_set(set)) affected_by_binding(ns, name, affected, filter);
}

void Fleet::take_placement(const Change& change, Keys& affected) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (change.after) {
    placements_[ns].insert_or_assign(name, decode_placement(change.after->decode()));
    affected.insert(key_of(ns, name));
  } else if (const auto space = placements_.find(ns); space != placements_.end()) {
    space->second.erase(name);
    if (space->second.empty()) placements_.erase(space);
  }
}

void Fleet::take_cluster(const Change& change, Keys& affected) {
  const std::string name = (change.after ? change.after : change.before)->key();
  const Cluster* known = world_.cluster(name);
  std::optional<Cluster> now;
  if (change.after) now = decode_cluster(change.after->decode());
  // What no stage reads (heartbeats, most of the status) concerns only placements that ask CEL.
  const bool visible = known == nullptr || !now || !(*known == *now);
  const Filter filter = visible ? nullptr : asks_cel;
  std::set<std::string> sets;
  if (known != nullptr) {
    for (std::string& set : world_.sets_of(*known)) sets.insert(std::move(set));
  }
  if (now) {
    for (std::string& set : world_.sets_of(*now)) sets.insert(std::move(set));
  }
  for (const std::string& set : sets) affected_by_set(set, affected, filter);
  if (!now) {
    world_.remove_cluster(name);
  } else if (visible) {
    world_.put(std::move(*now));
  }
}

void Fleet::take_set(const Change& change, Keys& affected) {
  const std::string name = (change.after ? change.after : change.before)->key();
  if (!change.after) {
    world_.remove_set(name);
  } else {
    Set set = decode_set(change.after->decode());
    if (const Set* known = world_.set(name); known != nullptr && *known == set) return;
    world_.put(std::move(set));
  }
  affected_by_set(name, affected);
  // Eligibility goes by the binding's own name, triggers by the set it names: a binding at odds with itself counts for both.
  for (const auto& [ns, by_name] : placements_) {
    if (world_.bindings(ns).contains(name)) affected_by_binding(ns, name, affected);
  }
}

void Fleet::take_binding(const Change& change, Keys& affected) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (!change.after) {
    world_.remove_binding(ns, name);
  } else {
    Binding binding = decode_binding(change.after->decode());
    const auto& known = world_.bindings(ns);
    if (const auto at = known.find(name); at != known.end() && at->second == binding) return;
    world_.put(std::move(binding));
  }
  affected_by_binding(ns, name, affected);
}

void Fleet::take_decision(const Change& change, Keys& affected) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (change.before) {
    if (const std::string placement = decode_decision(change.before->decode()).placement; !placement.empty()) {
      affected.insert(key_of(ns, placement));
    }
  }
  if (!change.after) {
    world_.remove_decision(ns, name);
    return;
  }
  Decision decision = decode_decision(change.after->decode());
  if (!decision.placement.empty()) affected.insert(key_of(ns, decision.placement));
  world_.put(std::move(decision));
}

void Fleet::take_score(const Change& change, Keys& affected) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (change.after) {
    world_.put(decode_score(change.after->decode()));
  } else {
    world_.remove_score(ns, name);
  }
  const Cluster* cluster = world_.cluster(ns);
  if (cluster == nullptr) return;
  for (const std::string& set : world_.sets_of(*cluster)) {
    for (const auto& [bound_ns, binding] : world_.bindings_of_set(set)) {
      const auto space = placements_.find(bound_ns);
      if (space == placements_.end()) continue;
      for (const auto& [placement_name, placement] : space->second) {
        if (reads_score(placement, name) || asks_cel(placement)) affected.insert(key_of(bound_ns, placement_name));
      }
    }
  }
}

}  // namespace fleetadm::placement
