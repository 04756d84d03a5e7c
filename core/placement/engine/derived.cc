#include "core/placement/engine/derived.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/placement/engine/cel.h"
#include "core/placement/engine/decode.h"

namespace fleetadm::placement {
namespace {

// More than this many label keys, scores or combinations of sets are not asked for by one fleet's placements at a time: what is
// there is then old, and is dropped.
constexpr std::size_t kMaxColumns = 512;
constexpr std::size_t kMaxPrograms = 512;
constexpr std::size_t kMaxMemberSlots = 4'000'000;

using Columns = std::map<std::string, LabelColumn, std::less<>>;

void update(Columns& columns, Slot slot, const Labels* before, const Labels* after, std::size_t slots) {
  if (before != nullptr && after != nullptr && *before == *after) return;
  if (columns.size() > kMaxColumns) columns.clear();
  for (auto at = columns.begin(); at != columns.end();) {
    at->second.set(slot, after == nullptr ? nullptr : label_value(*after, at->first));
    at = at->second.distinct() > 2 * slots + kMaxColumns ? columns.erase(at) : std::next(at);
  }
}

}  // namespace

void NameOrder::add(Slot slot) {
  if (slot >= placed_.size()) {
    placed_.resize(slot + 1U, 0);
    named_.resize(slot + 1U, 0);
  }
  named_[slot] = 1;
  added_.push_back(slot);
  changed_ = true;
}

void NameOrder::remove(Slot slot) {
  named_[slot] = 0;
  placed_[slot] = 0;
  changed_ = true;
}

template <class NameOf>
void NameOrder::settle(const NameOf& name_of) {
  if (!changed_) return;
  std::erase_if(slots_, [&](Slot slot) { return placed_[slot] == 0; });
  // A slot that was freed and named anew is here twice; one that was freed for good has no name.
  std::sort(added_.begin(), added_.end());
  added_.erase(std::unique(added_.begin(), added_.end()), added_.end());
  std::erase_if(added_, [&](Slot slot) { return named_[slot] == 0 || placed_[slot] != 0; });
  const auto before = [&](Slot a, Slot b) { return name_of(a) < name_of(b); };
  std::sort(added_.begin(), added_.end(), before);
  if (added_.size() < slots_.size() / 64) {
    for (const Slot slot : added_) slots_.insert(std::upper_bound(slots_.begin(), slots_.end(), slot, before), slot);
  } else {
    const auto middle = slots_.insert(slots_.end(), added_.begin(), added_.end());
    std::inplace_merge(slots_.begin(), middle, slots_.end(), before);
  }
  for (const Slot slot : added_) placed_[slot] = 1;
  added_.clear();
  ranks_.resize(placed_.size());
  for (std::uint32_t i = 0; i < slots_.size(); ++i) ranks_[slots_[i]] = i;
  changed_ = false;
}

void FleetState::take_columns(Slot slot, const Cluster* before, const Cluster* after) {
  forget_answers(slot);
  std::uint8_t state = 0;
  if (after != nullptr) {
    state = kPresent;
    if (after->deleting) state |= kDeleting;
    if (!after->taints.empty()) state |= kTainted;
    if (after->cpu) state |= kHasCpu;
    if (after->memory) state |= kHasMemory;
    cpu_[slot] = after->cpu.value_or(0);
    memory_[slot] = after->memory.value_or(0);
  }
  constexpr int kMember = kPresent | kDeleting;
  const bool same_member = before != nullptr && after != nullptr && (state_[slot] & kMember) == (state & kMember);
  if (!same_member || before->labels != after->labels) derived_->members.clear();
  state_[slot] = state;
  update(derived_->labels, slot, before == nullptr ? nullptr : &before->labels, after == nullptr ? nullptr : &after->labels,
         slots_.size());
  update(derived_->claims, slot, before == nullptr ? nullptr : &before->claims, after == nullptr ? nullptr : &after->claims,
         slots_.size());
}

void FleetState::take_score(Slot slot, std::string_view resource) {
  if (derived_->scores.size() > kMaxColumns) derived_->scores.clear();
  for (auto& [key, column] : derived_->scores) {
    if (key.first == resource) column.set(slot, score(slot, resource), key.second);
  }
  // An expression may ask for the scores of any cluster.
  for (auto& [program, answers] : derived_->answers) {
    if (answers.reads_scores) answers.by_slot.clear();
  }
}

void FleetState::forget_answers(Slot slot) {
  for (auto& [program, answers] : derived_->answers) {
    if (slot < answers.by_slot.size()) answers.by_slot[slot] = kUnknown;
  }
}

void FleetState::match(const std::shared_ptr<const CelProgram>& program, bool reads_scores, const std::vector<Slot>& slots,
                       std::vector<std::uint8_t>& flags) const {
  std::vector<std::uint8_t> known;
  {
    const std::lock_guard lock(derived_->mutex);
    if (const auto at = derived_->answers.find(program.get()); at != derived_->answers.end()) known = at->second.by_slot;
  }
  known.resize(slots_.size(), kUnknown);
  bool asked = false;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (flags[i] == 0) continue;
    std::uint8_t& answer = known[slots[i]];
    if (answer == kUnknown) {
      answer = program->matches(*this, *slots_[slots[i]].cluster) ? kYes : kNo;
      asked = true;
    }
    flags[i] = answer == kYes ? 1 : 0;
  }
  if (!asked) return;
  const std::lock_guard lock(derived_->mutex);
  if (derived_->answers.size() >= kMaxPrograms) derived_->answers.clear();
  derived_->answers.insert_or_assign(program.get(), CelAnswers{program, reads_scores, std::move(known)});
}

const std::vector<std::uint32_t>& FleetState::ranks() const {
  const std::lock_guard lock(derived_->mutex);
  derived_->order.settle([&](Slot slot) -> const std::string& { return slots_[slot].name; });
  return derived_->order.ranks();
}

const ScoreColumn& FleetState::scores(const AddonCoordinate& addon) const {
  const std::lock_guard lock(derived_->mutex);
  const auto [at, fresh] = derived_->scores.try_emplace({addon.resource, addon.score});
  if (fresh) {
    for (Slot slot = 0; slot < slots_.size(); ++slot) {
      if (const Score* one = score(slot, addon.resource); one != nullptr) at->second.set(slot, one, addon.score);
    }
  }
  return at->second;
}

const LabelColumn& FleetState::column(bool of_claims, std::string_view key) const {
  const std::lock_guard lock(derived_->mutex);
  Columns& columns = of_claims ? derived_->claims : derived_->labels;
  if (const auto at = columns.find(key); at != columns.end()) return at->second;
  LabelColumn& column = columns[std::string(key)];
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    if (const Cluster* cluster = slots_[slot].cluster.get(); cluster != nullptr)
      column.set(slot, label_value(of_claims ? cluster->claims : cluster->labels, key));
  }
  return column;
}

void FleetState::match(bool of_claims, const Selector::Requirement& requirement, const std::vector<Slot>& slots,
                       std::vector<std::uint8_t>& flags) const {
  const LabelColumn& values = column(of_claims, requirement.key);
  const std::vector<std::uint8_t> verdicts = values.verdicts(requirement);
  for (std::size_t i = 0; i < slots.size(); ++i) flags[i] &= verdicts[values.at(slots[i])];
}

void FleetState::match(const Selector& labels, const Selector& claims, const std::vector<Slot>& slots,
                       std::vector<std::uint8_t>& flags) const {
  if (!labels.error().empty() || !claims.error().empty()) {
    std::fill(flags.begin(), flags.end(), 0);
    return;
  }
  for (const Selector::Requirement& one : labels.requirements()) match(false, one, slots, flags);
  for (const Selector::Requirement& one : claims.requirements()) match(true, one, slots, flags);
}

std::shared_ptr<const std::vector<Slot>> FleetState::members(const std::vector<const Set*>& sets) const {
  std::vector<std::string> key;
  key.reserve(sets.size());
  for (const Set* set : sets) key.push_back(set->name);
  ranks();  // settles the order of names
  std::vector<Slot> clusters;
  {
    const std::lock_guard lock(derived_->mutex);
    if (const auto at = derived_->members.find(key); at != derived_->members.end()) return at->second;
    for (const Slot slot : derived_->order.slots()) {
      if ((state_[slot] & (kPresent | kDeleting)) == kPresent) clusters.push_back(slot);
    }
  }
  std::vector<std::uint8_t> taken(clusters.size(), 0);
  for (const Set* set : sets) {
    std::vector<std::uint8_t> flags(clusters.size(), 1);
    if (set->selector_type.empty() || set->selector_type == kExclusiveSelector) {
      match(false, {std::string(api::kClusterSetLabel), Selector::Op::kIn, {set->name}}, clusters, flags);
    } else if (set->selector_type == kLabelSelector && set->selector) {
      match(*set->selector, {}, clusters, flags);
    } else {
      continue;
    }
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] |= flags[i];
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (taken[i] != 0) clusters[kept++] = clusters[i];
  }
  clusters.resize(kept);
  clusters.shrink_to_fit();
  const std::lock_guard lock(derived_->mutex);
  if (derived_->member_slots > kMaxMemberSlots) {
    derived_->members.clear();
    derived_->member_slots = 0;
  }
  derived_->member_slots += kept;
  return derived_->members.insert_or_assign(std::move(key), std::make_shared<const std::vector<Slot>>(std::move(clusters)))
      .first->second;
}

}  // namespace fleetadm::placement
