#include "core/placement/engine/columns.h"

#include <algorithm>

namespace fleetadm::placement {

void LabelColumn::set(Slot slot, const std::string* value) {
  if (slot >= values_.size()) {
    if (value == nullptr) return;
    values_.resize(std::max<std::size_t>(slot + 1U, values_.size() + values_.size() / 2));
  }
  if (value == nullptr) {
    values_[slot] = 0;
    return;
  }
  const auto [at, fresh] = numbers_.try_emplace(*value, static_cast<std::uint32_t>(numbers_.size() + 1));
  values_[slot] = at->second;
}

std::vector<std::uint8_t> LabelColumn::verdicts(const Selector::Requirement& requirement) const {
  using Op = Selector::Op;
  const bool listed = requirement.op == Op::kIn || requirement.op == Op::kExists;
  // What is listed is `listed`, everything else is not; of an absent label only the two negations are true.
  const bool others = requirement.op == Op::kExists || requirement.op == Op::kNotIn;
  std::vector<std::uint8_t> verdicts(numbers_.size() + 1, others ? 1 : 0);
  verdicts[0] = requirement.op == Op::kNotIn || requirement.op == Op::kDoesNotExist ? 1 : 0;
  for (const std::string& value : requirement.values) {
    if (const auto at = numbers_.find(value); at != numbers_.end()) verdicts[at->second] = listed ? 1 : 0;
  }
  return verdicts;
}

void ScoreColumn::set(Slot slot, const Score* score, std::string_view item) {
  if (slot >= cells_.size()) {
    if (score == nullptr) return;
    cells_.resize(std::max<std::size_t>(slot + 1U, cells_.size() + cells_.size() / 2));
  }
  Cell cell;
  if (score != nullptr) {
    for (const auto& [name, value] : *score->items) {
      if (name == item) cell.value = value;
    }
    if (score->valid_until) cell.valid_until = *score->valid_until;
  }
  cells_[slot] = cell;
}

const ScoreColumn::Cell& ScoreColumn::at(Slot slot) const {
  static constexpr Cell none;
  return slot < cells_.size() ? cells_[slot] : none;
}

}  // namespace fleetadm::placement
