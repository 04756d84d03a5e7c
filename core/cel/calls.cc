// Calls of declared functions: which overload fits the values, what it costs, and its answer.
#include <array>
#include <utility>

#include "core/cel/nodes.h"

namespace fleetadm::cel {

namespace {

/// Steps taken for `bytes` of text.
std::uint64_t text_steps(std::size_t bytes) { return bytes / 64; }

class CallNode final : public Node {
 public:
  CallNode(CallPlan plan, std::vector<NodePtr> args)
      : plan_(std::move(plan)),
        args_(std::move(args)),
        rule_(plan_.decided != nullptr ? cost_rule(plan_.decided->id) : CostRule::kOne) {
    for (const Overload* candidate : plan_.candidates) non_strict_ = non_strict_ || candidate->non_strict;
  }

  Value eval(Frame& frame) const override {
    constexpr std::size_t kInline = 3;
    if (args_.size() <= kInline) {
      std::array<Value, kInline> values;
      return call(frame, std::span(values).first(args_.size()));
    }
    std::vector<Value> values(args_.size());
    return call(frame, values);
  }

 private:
  Value call(Frame& frame, std::span<Value> values) const {
    const Value* failed = nullptr;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = args_[i]->eval(frame);
      if (frame.stopped()) return frame.stop_value();
      if (failed != nullptr || non_strict_ || !values[i].is_error()) continue;
      failed = &values[i];
      // What is not called for want of arguments costs nothing.
      if (!plan_.eager && i + 1 < values.size()) return *failed;
    }
    const CostFunction* own_cost = plan_.decided != nullptr && plan_.decided->cost ? &plan_.decided->cost : nullptr;
    if (own_cost == nullptr && !frame.charge(call_cost(rule_, values))) return frame.stop_value();
    Value result = failed != nullptr ? *failed : dispatch(frame, values);
    if (result.is_abort() && !frame.stopped()) frame.stop(result, false);
    frame.check_work();
    if (own_cost != nullptr && !frame.stopped()) {
      const auto cost = (*own_cost)(values, result);
      frame.charge(cost ? *cost : call_cost(rule_, values));
    }
    return frame.stopped() ? frame.stop_value() : result;
  }

  Value dispatch(Frame& frame, std::span<const Value> values) const {
    for (const Overload* candidate : plan_.candidates) {
      if (!accepts(*candidate, values)) continue;
      std::uint64_t steps = 0;
      for (const Value& value : values) {
        if (value.is(Kind::kString) || value.is(Kind::kBytes)) {
          steps += text_steps(value.text().size());
        } else if (!candidate->constant_time) {
          steps += value.size();
        }
      }
      if (steps != 0 && !frame.spend(steps)) return frame.stop_value();
      return plan_.specialised ? plan_.specialised(frame.context(), values) : candidate->call(frame.context(), values);
    }
    return Value::error("no such overload: " + plan_.function);
  }

  static bool accepts(const Overload& overload, std::span<const Value> values) {
    if (overload.params.size() != values.size()) return false;
    if (overload.non_strict) return true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!fits(overload.params[i], values[i])) return false;
    }
    return true;
  }

  CallPlan plan_;
  std::vector<NodePtr> args_;
  CostRule rule_;
  bool non_strict_ = false;
};

}  // namespace

bool fits(const Type& type, const Value& value) {
  switch (type.kind()) {
    case TypeKind::kDyn:
    case TypeKind::kParam: return true;
    case TypeKind::kNull: return value.is(Kind::kNull);
    case TypeKind::kBool: return value.is(Kind::kBool);
    case TypeKind::kInt: return value.is(Kind::kInt);
    case TypeKind::kUint: return value.is(Kind::kUint);
    case TypeKind::kDouble: return value.is(Kind::kDouble);
    case TypeKind::kString: return value.is(Kind::kString);
    case TypeKind::kBytes: return value.is(Kind::kBytes);
    case TypeKind::kTimestamp: return value.is(Kind::kTimestamp);
    case TypeKind::kDuration: return value.is(Kind::kDuration);
    case TypeKind::kType: return value.is(Kind::kType);
    case TypeKind::kList: return value.is(Kind::kList) && (value.size() == 0 || fits(type.params()[0], value.at(0)));
    case TypeKind::kMap: {
      if (!value.is(Kind::kMap)) return false;
      bool fitting = true;
      value.each_entry([&](const Value& key, const Value& content) {
        fitting = fits(type.params()[0], key) && fits(type.params()[1], content);
        return false;
      });
      return fitting;
    }
    case TypeKind::kOpaque:
      if (type.is_optional()) return value.is(Kind::kOptional);
      return value.is(Kind::kOpaque) && value.as_opaque()->type().name() == type.name();
    case TypeKind::kError: break;
  }
  return false;
}

NodePtr call_node(CallPlan plan, std::vector<NodePtr> args) {
  return std::make_unique<CallNode>(std::move(plan), std::move(args));
}

}  // namespace fleetadm::cel
