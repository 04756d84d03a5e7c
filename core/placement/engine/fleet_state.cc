#include "core/placement/engine/fleet_state.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "core/placement/engine/derived.h"

namespace fleetadm::placement {
namespace {

constexpr std::size_t kWorthSharing = 16;  // items
constexpr std::size_t kMostShared = 16;    // lists of one name, of as many versions of clusters

}  // namespace

FleetState::FleetState() : derived_(std::make_unique<Derived>()) {}
FleetState::~FleetState() = default;
FleetState::FleetState(FleetState&&) noexcept = default;
FleetState& FleetState::operator=(FleetState&&) noexcept = default;

Slot FleetState::slot_for(std::string_view name) {
  if (const auto at = by_name_.find(name); at != by_name_.end()) return at->second;
  Slot slot = 0;
  if (free_.empty()) {
    slot = static_cast<Slot>(slots_.size());
    slots_.emplace_back();
    decisions_by_slot_.push_back(0);
    reserved_by_slot_.push_back(0);
    cpu_.push_back(0);
    memory_.push_back(0);
    state_.push_back(0);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot].name = name;
  by_name_.emplace(std::string(name), slot);
  derived_->order.add(slot);
  return slot;
}

void FleetState::release(Slot slot) {
  Entry& entry = slots_[slot];
  if (entry.cluster || decisions_by_slot_[slot] != 0 || !entry.scores.empty()) return;
  by_name_.erase(entry.name);
  entry.name.clear();
  free_.push_back(slot);
  derived_->order.remove(slot);
}

void FleetState::put(Cluster cluster) {
  const Slot slot = slot_for(cluster.name);
  Entry& entry = slots_[slot];
  if (!entry.cluster) ++cluster_count_;
  auto fresh = std::make_unique<Cluster>(std::move(cluster));
  take_columns(slot, entry.cluster.get(), fresh.get());
  entry.cluster = std::move(fresh);
}

void FleetState::renew(std::string_view name, WholeObject object) {
  const auto at = by_name_.find(name);
  if (at == by_name_.end() || !slots_[at->second].cluster) return;
  slots_[at->second].cluster->object = std::move(object);
  forget_answers(at->second);
}

void FleetState::remove_cluster(std::string_view name) {
  const auto at = by_name_.find(name);
  if (at == by_name_.end() || !slots_[at->second].cluster) return;
  const Slot slot = at->second;
  take_columns(slot, slots_[slot].cluster.get(), nullptr);
  slots_[slot].cluster.reset();
  --cluster_count_;
  release(slot);
}

const Cluster* FleetState::cluster(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : slots_[at->second].cluster.get();
}

void FleetState::put(Set set) {
  derived_->members.clear();
  std::string name = set.name;
  sets_.insert_or_assign(std::move(name), std::move(set));
}

void FleetState::remove_set(std::string_view name) {
  derived_->members.clear();
  if (const auto at = sets_.find(name); at != sets_.end()) sets_.erase(at);
}

const Set* FleetState::set(std::string_view name) const {
  const auto at = sets_.find(name);
  return at == sets_.end() ? nullptr : &at->second;
}

bool FleetState::takes(const Set& set, const Cluster& cluster) {
  if (set.selector_type.empty() || set.selector_type == kExclusiveSelector) {
    const std::string* value = label_value(cluster.labels, api::kClusterSetLabel);
    return value != nullptr && *value == set.name;
  }
  return set.selector_type == kLabelSelector && set.selector && set.selector->matches(cluster.labels);
}

std::string FleetState::set_error(const Set& set) {
  if (set.selector_type.empty() || set.selector_type == kExclusiveSelector) return {};
  if (set.selector_type == kLabelSelector) return set.selector ? set.selector->error() : std::string();
  return "selectorType is not right: " + set.selector_type;
}

std::vector<std::string> FleetState::sets_of(const Cluster& cluster) const {
  std::vector<std::string> names;
  for (const auto& [name, set] : sets_) {
    if (takes(set, cluster)) names.push_back(name);
  }
  return names;
}

void FleetState::put(Binding binding) {
  remove_binding(binding.ns, binding.name);
  bindings_by_set_[binding.cluster_set].emplace(binding.ns, binding.name);
  std::string ns = binding.ns;
  std::string name = binding.name;
  bindings_[std::move(ns)].insert_or_assign(std::move(name), std::move(binding));
}

void FleetState::remove_binding(std::string_view ns, std::string_view name) {
  const auto space = bindings_.find(ns);
  if (space == bindings_.end()) return;
  const auto at = space->second.find(name);
  if (at == space->second.end()) return;
  if (const auto by_set = bindings_by_set_.find(at->second.cluster_set); by_set != bindings_by_set_.end()) {
    by_set->second.erase({at->second.ns, at->second.name});
    if (by_set->second.empty()) bindings_by_set_.erase(by_set);
  }
  space->second.erase(at);
  if (space->second.empty()) bindings_.erase(space);
}

const std::map<std::string, Binding, std::less<>>& FleetState::bindings(std::string_view ns) const {
  static const std::map<std::string, Binding, std::less<>> none;
  const auto at = bindings_.find(ns);
  return at == bindings_.end() ? none : at->second;
}

std::vector<std::pair<std::string, std::string>> FleetState::bindings_of_set(std::string_view set) const {
  const auto at = bindings_by_set_.find(set);
  if (at == bindings_by_set_.end()) return {};
  return {at->second.begin(), at->second.end()};
}

void FleetState::put(Decision decision) {
  KnownDecision known{decision.placement, decision.group_name, decision.group_index, {}, decision.resource_version};
  known.clusters.reserve(decision.clusters.size());
  // The new mentions come first, so that names which stay keep their slots.
  for (const std::string& name : decision.clusters) {
    const Slot slot = slot_for(name);
    ++decisions_by_slot_[slot];
    known.clusters.push_back(slot);
  }
  remove_decision(decision.ns, decision.name);
  const Keyed key{decision.ns, known.placement};
  if (!known.placement.empty()) decisions_by_placement_[key].insert(decision.name);
  decisions_[decision.ns].insert_or_assign(decision.name, std::move(known));
  count_reserved(key);
}

void FleetState::remove_decision(std::string_view ns, std::string_view name) {
  const auto space = decisions_.find(ns);
  if (space == decisions_.end()) return;
  const auto at = space->second.find(name);
  if (at == space->second.end()) return;
  for (const Slot slot : at->second.clusters) {
    if (--decisions_by_slot_[slot] == 0) release(slot);
  }
  if (const auto own = decisions_by_placement_.find({std::string(ns), at->second.placement});
      own != decisions_by_placement_.end()) {
    own->second.erase(std::string(name));
    if (own->second.empty()) decisions_by_placement_.erase(own);
  }
  const Keyed key{std::string(ns), at->second.placement};
  space->second.erase(at);
  if (space->second.empty()) decisions_.erase(space);
  count_reserved(key);
}

void FleetState::reserve(std::string_view ns, std::string_view placement, const std::vector<std::vector<std::string>>& clusters) {
  Keyed key{std::string(ns), std::string(placement)};
  std::vector<Slot> wanted;
  for (const auto& names : clusters) {
    for (const std::string& name : names) {
      if (const auto at = by_name_.find(name); at != by_name_.end()) wanted.push_back(at->second);
    }
  }
  if (wanted.empty() && !reservations_.contains(key)) return;
  std::sort(wanted.begin(), wanted.end());
  reservations_[key].wanted = std::move(wanted);
  count_reserved(key);
}

// Counts the difference between what is reserved and what is known; a reservation that has come true is over.
void FleetState::count_reserved(const Keyed& key) {
  const auto at = reservations_.find(key);
  if (at == reservations_.end()) return;
  for (const auto& [slot, count] : at->second.counted) reserved_by_slot_[slot] -= count;
  at->second.counted.clear();
  std::vector<Slot> known;
  for (const auto& [name, decision] : own_decisions(key.first, key.second))
    known.insert(known.end(), decision->clusters.begin(), decision->clusters.end());
  std::sort(known.begin(), known.end());
  if (at->second.wanted.empty() || known == at->second.wanted) {
    reservations_.erase(at);
    return;
  }
  for (const Slot slot : at->second.wanted) at->second.counted.emplace_back(slot, 1);
  for (const Slot slot : known) at->second.counted.emplace_back(slot, -1);
  for (const auto& [slot, count] : at->second.counted) reserved_by_slot_[slot] += count;
}

std::vector<std::int64_t> FleetState::foreign_counts(std::string_view ns, std::string_view placement) const {
  std::vector<std::int64_t> counts = decisions_by_slot_;
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += reserved_by_slot_[i];
  for (const auto& [name, decision] : own_decisions(ns, placement)) {
    for (const Slot slot : decision->clusters) --counts[slot];
  }
  if (const auto own = reservations_.find({std::string(ns), std::string(placement)}); own != reservations_.end()) {
    for (const auto& [slot, count] : own->second.counted) counts[slot] -= count;
  }
  return counts;
}

std::map<std::string_view, const FleetState::KnownDecision*> FleetState::own_decisions(std::string_view ns,
                                                                                       std::string_view placement) const {
  std::map<std::string_view, const KnownDecision*> own;
  const auto names = decisions_by_placement_.find({std::string(ns), std::string(placement)});
  const auto space = decisions_.find(ns);
  if (names == decisions_by_placement_.end() || space == decisions_.end()) return own;
  for (const std::string& name : names->second) {
    if (const auto at = space->second.find(name); at != space->second.end()) own.emplace(at->first, &at->second);
  }
  return own;
}

void FleetState::share_items(Score& score) {
  if (score.items->size() < kWorthSharing) return;
  auto& known = long_items_[score.name];
  const auto same = std::find_if(known.begin(), known.end(), [&](const auto& items) { return *items == *score.items; });
  if (same != known.end()) {
    score.items = *same;
    return;
  }
  if (known.size() == kMostShared) known.erase(known.begin());
  known.push_back(score.items);
}

void FleetState::put(Score score) {
  share_items(score);
  const Slot slot = slot_for(score.ns);
  const std::string name = score.name;
  slots_[slot].scores.insert_or_assign(name, std::move(score));
  take_score(slot, name);
}

void FleetState::remove_score(std::string_view ns, std::string_view name) {
  const auto at = by_name_.find(ns);
  if (at == by_name_.end()) return;
  const Slot slot = at->second;
  auto& scores = slots_[slot].scores;
  const auto score = scores.find(name);
  if (score == scores.end()) return;
  scores.erase(score);
  take_score(slot, name);
  release(slot);
}

const Score* FleetState::score(std::string_view cluster, std::string_view resource) const {
  const auto at = by_name_.find(cluster);
  return at == by_name_.end() ? nullptr : score(at->second, resource);
}

const Score* FleetState::score(Slot slot, std::string_view resource) const {
  const auto& scores = slots_[slot].scores;
  const auto at = scores.find(resource);
  return at == scores.end() ? nullptr : &at->second;
}

std::size_t FleetState::approximate_bytes() const {
  const auto labels = [](const Labels& list) {
    std::size_t bytes = list.capacity() * sizeof(Labels::value_type);
    for (const auto& [key, value] : list)
      bytes += (key.capacity() > 15 ? key.capacity() : 0) + (value.capacity() > 15 ? value.capacity() : 0);
    return bytes;
  };
  std::size_t bytes = slots_.capacity() * sizeof(Entry);
  for (const Entry& entry : slots_) {
    bytes += 80;  // the node of by_name_
    if (!entry.cluster) continue;
    bytes += sizeof(Cluster) + labels(entry.cluster->labels) + labels(entry.cluster->claims);
    bytes += entry.cluster->taints.capacity() * sizeof(Taint);
  }
  return bytes;
}

}  // namespace fleetadm::placement
