// What passes read of every cluster, as columns by slot: a pass over ten thousand clusters touches small numbers, not texts
// (internal to core/placement). Columns are made when a pass first asks for a label key or a score, and kept up to date after.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/placement/engine/types.h"

namespace fleetadm::placement {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// One label's (or claim's) values as small numbers; 0: the cluster does not have it.
class LabelColumn {
 public:
  /// nullptr: the slot's cluster has no such label.
  void set(Slot slot, const std::string* value);
  std::uint32_t at(Slot slot) const { return slot < values_.size() ? values_[slot] : 0; }
  /// How many values were ever seen.
  std::size_t distinct() const { return numbers_.size(); }
  /// By number: whether a cluster with that value meets the requirement.
  std::vector<std::uint8_t> verdicts(const Selector::Requirement& requirement) const;

 private:
  std::vector<std::uint32_t> values_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> numbers_;  // from 1
};

/// One score of an AddOnPlacementScore's name: 0 where there is none.
class ScoreColumn {
 public:
  struct Cell {
    std::int64_t value = 0;
    Instant valid_until = Instant::max();  // max: no end
  };
  /// nullptr: the slot's cluster has no such object.
  void set(Slot slot, const Score* score, std::string_view item);
  const Cell& at(Slot slot) const;

 private:
  std::vector<Cell> cells_;
};

}  // namespace fleetadm::placement
