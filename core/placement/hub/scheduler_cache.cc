#include "core/placement/hub/scheduler_cache.h"

#include <algorithm>
#include <iterator>

#include "core/placement/engine/decode.h"

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

bool reads_built_in(const Placement& placement, std::string_view name) {
  return std::any_of(placement.prioritizers.begin(), placement.prioritizers.end(),
                     [&](const PrioritizerConfig& one) { return one.built_in == name && one.weight != 0; });
}

bool reads_key(const Selector& selector, const std::set<std::string>& keys) {
  return std::any_of(selector.requirements().begin(), selector.requirements().end(),
                     [&](const Selector::Requirement& one) { return keys.contains(one.key); });
}

void changed_keys(const Labels& before, const Labels& after, std::set<std::string>& keys) {
  Labels differ;
  std::set_symmetric_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(differ));
  for (auto& [key, value] : differ) keys.insert(std::move(key));
}

std::string key_of(std::string_view ns, std::string_view name) { return std::string(ns) + "/" + std::string(name); }

}  // namespace

void SchedulerCache::note(Kind kind, kube::CachedPtr before, kube::CachedPtr after) {
  const std::lock_guard lock(inbox_mutex_);
  inbox_.push_back({kind, std::move(before), std::move(after)});
  pending_ = true;
}

std::set<std::string> SchedulerCache::catch_up() {
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

std::optional<SchedulerCache::Run> SchedulerCache::run_from(const std::string& key, Instant now,
                                                            const PassOptions& options) const {
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

std::optional<Pass> SchedulerCache::run(const std::string& key, Instant now, const PassOptions& options) const {
  auto run = run_from(key, now, options);
  if (!run) return std::nullopt;
  return std::move(run->pass);
}

std::vector<std::string> SchedulerCache::placements() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [ns, by_name] : placements_) {
    for (const auto& [name, placement] : by_name) keys.push_back(key_of(ns, name));
  }
  return keys;
}

void SchedulerCache::reserve(const std::string& key, const Pass* pass) {
  const auto [ns, name] = kube::split_key(key);
  std::vector<std::vector<std::string>> clusters;
  if (pass != nullptr) {
    for (const WantedDecision& one : pass->decisions) clusters.push_back(one.clusters);
  }
  const std::unique_lock lock(mutex_);
  world_.reserve(ns, name, clusters);
}

std::optional<Pass> SchedulerCache::explain(const std::string& key, Instant now, const CelEvaluator* cel) const {
  const auto [ns, name] = kube::split_key(key);
  const std::shared_lock lock(mutex_);
  const auto space = placements_.find(ns);
  if (space == placements_.end()) return std::nullopt;
  const auto at = space->second.find(name);
  if (at == space->second.end()) return std::nullopt;
  Placement placement = at->second.placement;
  placement.disabled = false;
  placement.deleting = false;
  return schedule(world_, placement, now, {.cel = cel, .record = true});
}

void SchedulerCache::Aspects::add(const Aspects& other) {
  every = every || other.every;
  cpu = cpu || other.cpu;
  memory = memory || other.memory;
  labels.insert(other.labels.begin(), other.labels.end());
  claims.insert(other.claims.begin(), other.claims.end());
}

bool SchedulerCache::concern(const Aspects& aspects, const Placement& placement) {
  if (aspects.every || asks_cel(placement)) return true;  // CEL reads what it likes
  if (aspects.cpu && reads_built_in(placement, "ResourceAllocatableCPU")) return true;
  if (aspects.memory && reads_built_in(placement, "ResourceAllocatableMemory")) return true;
  if (aspects.labels.empty() && aspects.claims.empty()) return false;
  const auto read = [&](const auto& one) {
    return reads_key(one.labels, aspects.labels) || reads_key(one.claims, aspects.claims);
  };
  return std::any_of(placement.predicates.begin(), placement.predicates.end(), read) ||
         std::any_of(placement.groups.begin(), placement.groups.end(), read);
}

// Which placements the touched sets, bindings and scores are those of, as the world is after the batch: who came to a set, a
// binding or a namespace within the batch is there by a change of its own.
SchedulerCache::Keys SchedulerCache::affected_by(Touched touched) const {
  struct Space {
    std::map<std::string, Aspects> bindings;
    std::set<std::string> scores;
    bool every = false;
  };
  std::map<std::string, Space> spaces;
  for (const std::string& ns : touched.spaces) spaces[ns].every = true;
  for (const auto& [binding, aspects] : touched.bindings) spaces[binding.first].bindings[binding.second].add(aspects);
  for (const auto& [set, aspects] : touched.sets) {
    for (const auto& [ns, binding] : world_.bindings_of_set(set)) spaces[ns].bindings[binding].add(aspects);
  }
  for (const auto& [set, score] : touched.scores) {
    for (const auto& [ns, binding] : world_.bindings_of_set(set)) spaces[ns].scores.insert(score);
  }
  for (const auto& [ns, space] : spaces) {
    const auto known = placements_.find(ns);
    if (known == placements_.end()) continue;
    for (const auto& [name, entry] : known->second) {
      const Placement& placement = entry.placement;
      const auto& asked = placement.cluster_sets;
      const bool affected =
          space.every ||
          std::any_of(space.bindings.begin(), space.bindings.end(),
                      [&](const auto& binding) {
                        return (asked.empty() || std::find(asked.begin(), asked.end(), binding.first) != asked.end()) &&
                               concern(binding.second, placement);
                      }) ||
          (!space.scores.empty() && asks_cel(placement)) ||
          std::any_of(space.scores.begin(), space.scores.end(), [&](const auto& score) { return reads_score(placement, score); });
      if (affected) touched.keys.insert(key_of(ns, name));
    }
  }
  return std::move(touched.keys);
}

void SchedulerCache::take(const Change& change, Touched& touched) {
  switch (change.kind) {
    case Kind::kPlacement: return take_placement(change, touched);
    case Kind::kCluster: return take_cluster(change, touched);
    case Kind::kSet: return take_set(change, touched);
    case Kind::kBinding: return take_binding(change, touched);
    case Kind::kDecision: return take_decision(change, touched);
    case Kind::kScore: return take_score(change, touched);
  }
}

void SchedulerCache::take_placement(const Change& change, Touched& touched) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (change.after) {
    placements_[ns].insert_or_assign(
        name, Known{decode_placement(change.after->decode()), std::string(change.after->resource_version())});
    touched.keys.insert(key_of(ns, name));
  } else if (const auto space = placements_.find(ns); space != placements_.end()) {
    space->second.erase(name);
    if (space->second.empty()) placements_.erase(space);
    world_.reserve(ns, name, {});
  }
}

void SchedulerCache::take_cluster(const Change& change, Touched& touched) {
  const std::string name = (change.after ? change.after : change.before)->key();
  const Cluster* known = world_.cluster(name);
  std::optional<Cluster> now;
  if (change.after) {
    now = decode_cluster(change.after->decode());
    now->object.cached = change.after;
  }
  const bool visible = known == nullptr || !now || !(*known == *now);
  const auto sets_of = [&](const Cluster* cluster) {
    return cluster == nullptr ? std::vector<std::string>() : world_.sets_of(*cluster);
  };
  const std::vector<std::string> before = sets_of(known);
  const std::vector<std::string> after = visible ? sets_of(now ? &*now : nullptr) : before;
  // What no stage reads (heartbeats, most of the status) changes no aspect: it concerns only placements that ask CEL.
  Aspects stays;
  if (visible && known != nullptr && now) {
    stays.every = known->taints != now->taints || known->deleting != now->deleting;
    stays.cpu = known->cpu != now->cpu;
    stays.memory = known->memory != now->memory;
    changed_keys(known->labels, now->labels, stays.labels);
    changed_keys(known->claims, now->claims, stays.claims);
  }
  Aspects moves;
  moves.every = true;
  for (const std::string& set : before) {
    touched.sets[set].add(std::binary_search(after.begin(), after.end(), set) ? stays : moves);
  }
  for (const std::string& set : after) {
    if (!std::binary_search(before.begin(), before.end(), set)) touched.sets[set].add(moves);
  }
  if (!now) {
    world_.remove_cluster(name);
  } else if (visible) {
    world_.put(std::move(*now));
  } else {
    world_.renew(name, std::move(now->object));
  }
}

void SchedulerCache::take_set(const Change& change, Touched& touched) {
  const std::string name = (change.after ? change.after : change.before)->key();
  const bool came_or_went = !change.after || world_.set(name) == nullptr;
  if (!change.after) {
    world_.remove_set(name);
  } else {
    Set set = decode_set(change.after->decode());
    if (const Set* known = world_.set(name); known != nullptr && *known == set) return;
    world_.put(std::move(set));
  }
  touched.sets[name].every = true;
  // Eligibility goes by the binding's own name, triggers by the set it names: a binding at odds with itself counts for both.
  for (const auto& [ns, by_name] : placements_) {
    if (!world_.bindings(ns).contains(name)) continue;
    touched.bindings[{ns, name}].every = true;
    if (came_or_went) touched.spaces.insert(ns);
  }
}

void SchedulerCache::take_binding(const Change& change, Touched& touched) {
  const auto [ns, name] = kube::split_key((change.after ? change.after : change.before)->key());
  if (!change.after || !world_.bindings(ns).contains(name)) touched.spaces.insert(ns);
  if (!change.after) {
    world_.remove_binding(ns, name);
  } else {
    Binding binding = decode_binding(change.after->decode());
    const auto& known = world_.bindings(ns);
    if (const auto at = known.find(name); at != known.end() && at->second == binding) return;
    world_.put(std::move(binding));
  }
  touched.bindings[{ns, name}].every = true;
}

void SchedulerCache::take_decision(const Change& change, Touched& touched) {
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

void SchedulerCache::take_score(const Change& change, Touched& touched) {
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
