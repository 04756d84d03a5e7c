// The state of one evaluation, and the nodes of a plan that run in it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/cel/library.h"
#include "core/cel/value.h"

namespace fleetadm::cel {

class Node;
class AttributeNode;

/// A variable of a comprehension. The accumulator's first value is computed when it is first read.
struct Slot {
  Value value;
  const Node* init = nullptr;  // set: not computed yet
};

class Frame {
 public:
  Frame(std::span<const Value* const> globals, std::span<Slot> slots, std::uint64_t cost_limit, std::uint64_t work_limit,
        const Host* host)
      : work_(work_limit), context_{work_, host}, globals_(globals), slots_(slots), limit_(cost_limit) {}

  /// Adds to the cost. False once the evaluation has to end: what a node then returns must be stop_value().
  bool charge(std::uint64_t cost) {
    if (stopped_) return false;
    cost_ = cost_ + cost < cost_ ? UINT64_MAX : cost_ + cost;
    if (cost_ > limit_) stop(Value::abort("operation cancelled: actual cost limit exceeded"), true);
    return !stopped_;
  }
  bool spend(std::uint64_t steps) {
    if (!work_.spend(steps)) check_work();
    return !stopped_;
  }
  void check_work() {
    if (work_.exhausted() && !stopped_) stop(Value::abort("operation cancelled: work limit exceeded"), true);
  }
  void stop(Value why, bool limit) {
    stopped_ = true;
    limit_reached_ = limit;
    why_ = std::move(why);
  }
  bool stopped() const { return stopped_; }
  bool limit_reached() const { return limit_reached_; }
  const Value& stop_value() const { return why_; }
  std::uint64_t cost() const { return cost_; }

  Work& work() { return work_; }
  CallContext& context() { return context_; }
  /// The value of a variable of the environment, or nullptr where it has none.
  const Value* global(std::size_t index) const { return globals_[index]; }
  Slot& slot(std::size_t index) { return slots_[index]; }

 private:
  Work work_;
  CallContext context_;
  std::span<const Value* const> globals_;
  std::span<Slot> slots_;
  std::uint64_t limit_;
  std::uint64_t cost_ = 0;
  bool stopped_ = false;
  bool limit_reached_ = false;
  Value why_;
};

class Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  /// The value, or an error value. Charges for itself and for all below.
  virtual Value eval(Frame& frame) const = 0;
  virtual AttributeNode* attribute() { return nullptr; }
  /// The value of a literal (or of a constant's name); nullptr for all else.
  virtual const Value* literal() const { return nullptr; }
};

using NodePtr = std::unique_ptr<Node>;

}  // namespace fleetadm::cel
