#include <array>
#include <exception>

#include "core/cel/declarations.h"
#include "core/cel/env.h"
#include "core/cel/planner.h"

namespace fleetadm::cel {

namespace {

/// Storage on the stack for the few entries that most programs need.
template <class T, std::size_t kInline>
class Room {
 public:
  explicit Room(std::size_t size) : size_(size), heap_(size > kInline ? size : 0) {}
  std::span<T> span() { return size_ > kInline ? std::span<T>(heap_) : std::span<T>(local_).first(size_); }

 private:
  std::size_t size_;
  std::array<T, kInline> local_{};
  std::vector<T> heap_;
};

}  // namespace

Outcome Program::evaluate(std::span<const Binding> bindings, const Limits& limits, const Host* host) const {
  const auto& variables = plan_->declarations->variables;
  Room<const Value*, 4> globals(variables.size());
  for (const Binding& binding : bindings) {
    const int index = plan_->declarations->variable(binding.name);
    if (index >= 0) globals.span()[static_cast<std::size_t>(index)] = &binding.value;
  }
  Room<Slot, 4> slots(plan_->slots);
  Frame frame(globals.span(), slots.span(), limits.cost, limits.work, host);
  Outcome outcome;
  try {
    outcome.value = plan_->root->eval(frame);
  } catch (const std::exception& failure) {
    outcome.value = Value::error(std::string("internal error: ") + failure.what());
  }
  if (frame.stopped()) outcome.value = frame.stop_value();
  outcome.cost = frame.cost();
  outcome.limit_reached = frame.limit_reached();
  return outcome;
}

const Type& Program::result_type() const { return plan_->type; }

}  // namespace fleetadm::cel
