// What a FleetState makes when it is first asked for, and then keeps up to date (internal to core/placement).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/placement/engine/columns.h"
#include "core/placement/engine/fleet_state.h"

namespace fleetadm::placement {

/// Slots in the order of their names; changes are taken in when the order is next asked for.
class NameOrder {
 public:
  void add(Slot slot);
  void remove(Slot slot);
  template <class NameOf>
  void settle(const NameOf& name_of);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<std::uint32_t>& ranks() const { return ranks_; }

 private:
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> ranks_;  // by slot
  std::vector<std::uint8_t> placed_;  // by slot: its place in slots_ is right
  std::vector<std::uint8_t> named_;   // by slot
  std::vector<Slot> added_;
  bool changed_ = false;
};

/// What a CEL program said of each slot's cluster.
struct CelAnswers {
  std::shared_ptr<const CelProgram> program;  // kept, so that its address stays its own
  bool reads_scores = false;
  std::vector<std::uint8_t> by_slot;  // kUnknown, kNo, kYes
};
inline constexpr std::uint8_t kUnknown = 0;
inline constexpr std::uint8_t kNo = 1;
inline constexpr std::uint8_t kYes = 2;

struct FleetState::Derived {
  std::mutex mutex;  // readers make what is missing; writers are alone
  NameOrder order;
  std::map<std::string, LabelColumn, std::less<>> labels;
  std::map<std::string, LabelColumn, std::less<>> claims;
  std::map<std::pair<std::string, std::string>, ScoreColumn> scores;                     // (resource, score)
  std::map<std::vector<std::string>, std::shared_ptr<const std::vector<Slot>>> members;  // by names of sets
  std::map<const CelProgram*, CelAnswers> answers;
  std::size_t member_slots = 0;  // in all of `members`
};

}  // namespace fleetadm::placement
