#include "core/cel/nodes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/cel/equality.h"
#include "core/cel/value_nodes.h"

namespace fleetadm::cel {

namespace {

class LiteralNode final : public Node {
 public:
  explicit LiteralNode(Value value)
      : value_(std::move(value)), shown_(value_.is(Kind::kString) ? Value::borrowed(value_.text()) : value_) {}

  Value eval(Frame& frame) const override { return frame.stopped() ? frame.stop_value() : shown_; }
  const Value* literal() const override { return &value_; }

 private:
  Value value_;
  Value shown_;  // borrows: no count to change from many threads
};

/// && where kAbsorbing is false, || where it is true.
template <bool kAbsorbing>
class LogicNode final : public Node {
 public:
  LogicNode(NodePtr left, NodePtr right) : left_(std::move(left)), right_(std::move(right)) {}

  Value eval(Frame& frame) const override {
    Value left = left_->eval(frame);
    if (decides(left)) return left;
    if (frame.stopped()) return frame.stop_value();
    Value right = right_->eval(frame);
    if (decides(right)) return right;
    if (frame.stopped()) return frame.stop_value();
    for (Value* value : {&left, &right}) {
      if (!value->is(Kind::kBool)) return value->is_error() ? std::move(*value) : Value::no_such_overload();
    }
    return Value::boolean(!kAbsorbing);
  }

 private:
  static bool decides(const Value& value) { return kAbsorbing ? value.is_true() : value.is_false(); }

  NodePtr left_;
  NodePtr right_;
};

class EqualityNode final : public Node {
 public:
  EqualityNode(NodePtr left, NodePtr right, bool negated) : left_(std::move(left)), right_(std::move(right)), negated_(negated) {}

  Value eval(Frame& frame) const override {
    const Value args[] = {left_->eval(frame), right_->eval(frame)};
    if (!frame.charge(call_cost(CostRule::kSmaller, args))) return frame.stop_value();
    for (const Value& value : args) {
      if (value.is_error()) return value;
    }
    const std::optional<bool> same = equality(args[0], args[1], frame.work());
    frame.check_work();
    if (frame.stopped()) return frame.stop_value();
    if (!same && !negated_) return Value::no_such_overload();
    return Value::boolean(same.value_or(false) != negated_);
  }

 private:
  NodePtr left_;
  NodePtr right_;
  bool negated_;
};

class ListBuilder final : public Node {
 public:
  ListBuilder(std::vector<NodePtr> elements, std::vector<bool> optional)
      : elements_(std::move(elements)), optional_(std::move(optional)) {}

  Value eval(Frame& frame) const override {
    Value list = build(frame);
    return frame.charge(kListCost) ? list : frame.stop_value();
  }

 private:
  Value build(Frame& frame) const {
    std::vector<Value> values;
    values.reserve(elements_.size());
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      Value value = elements_[i]->eval(frame);
      if (value.is_error()) return value;
      if (optional_[i]) {
        if (!value.is(Kind::kOptional)) return Value::error("cannot initialize optional list element from non-optional value");
        auto content = value.content();
        if (!content) continue;
        value = std::move(*content);
      }
      values.push_back(std::move(value));
    }
    return Value::list(std::move(values));
  }

  std::vector<NodePtr> elements_;
  std::vector<bool> optional_;
};

class MapBuilder final : public Node {
 public:
  MapBuilder(std::vector<NodePtr> parts, std::vector<bool> optional) : parts_(std::move(parts)), optional_(std::move(optional)) {}

  Value eval(Frame& frame) const override {
    Value map = build(frame);
    if (frame.stopped()) return frame.stop_value();
    return frame.charge(kMapCost) ? map : frame.stop_value();
  }

 private:
  Value build(Frame& frame) const {
    std::vector<Value::Entry> entries;
    entries.reserve(optional_.size());
    for (std::size_t i = 0; i < optional_.size(); ++i) {
      Value key = parts_[2 * i]->eval(frame);
      if (key.is_error()) return key;
      Value value = parts_[2 * i + 1]->eval(frame);
      if (value.is_error()) return value;
      if (key.is(Kind::kBytes)) {
        // Upstream's map cannot hash bytes, which ends the evaluation rather than the operation.
        frame.stop(Value::abort("bytes cannot be the key of a map"), false);
        return frame.stop_value();
      }
      if (optional_[i]) {
        if (!value.is(Kind::kOptional)) return Value::error("cannot initialize optional entry from non-optional value");
        auto content = value.content();
        if (!content) {
          if (!frame.spend(entries.size())) return frame.stop_value();
          // An absent entry also takes back an earlier one of its key.
          std::erase_if(entries, [&](const Value::Entry& entry) {
            return entry.first.kind() == key.kind() && Value::map({entry}).find(key).has_value();
          });
          continue;
        }
        value = std::move(*content);
      }
      entries.emplace_back(std::move(key), std::move(value));
    }
    return Value::map(std::move(entries));
  }

  std::vector<NodePtr> parts_;
  std::vector<bool> optional_;
};

class OptionalOrNode final : public Node {
 public:
  OptionalOrNode(NodePtr left, NodePtr right, bool value) : left_(std::move(left)), right_(std::move(right)), value_(value) {}

  Value eval(Frame& frame) const override {
    Value left = left_->eval(frame);
    if (left.is_error()) return left;
    if (!left.is(Kind::kOptional)) return Value::no_such_overload();
    auto content = left.content();
    if (!content) return right_->eval(frame);
    return value_ ? std::move(*content) : std::move(left);
  }

 private:
  NodePtr left_;
  NodePtr right_;
  bool value_;
};

class FoldNode final : public Node {
 public:
  explicit FoldNode(FoldParts parts) : parts_(std::move(parts)) {}

  Value eval(Frame& frame) const override {
    if (frame.stopped()) return frame.stop_value();
    const Value range = parts_.range->eval(frame);
    if (range.is_error()) return range;
    Slot& accumulator = frame.slot(parts_.accumulator_slot);
    accumulator.value = Value();
    accumulator.init = parts_.init.get();
    bool going = true;
    if (range.is(Kind::kList)) {
      const std::size_t size = range.size();
      for (std::size_t i = 0; going && i < size; ++i) going = turn(frame, range.at(i));
    } else if (range.is(Kind::kMap)) {
      if (!frame.spend(range.size())) return frame.stop_value();
      const std::vector<Value> keys = range.keys();
      for (std::size_t i = 0; going && i < keys.size(); ++i) going = turn(frame, keys[i]);
    } else {
      return Value::error("expression of type '" + range.runtime_type().name() + "' cannot be the range of a comprehension");
    }
    if (frame.stopped()) return frame.stop_value();
    Value result = parts_.result->eval(frame);
    accumulator.value = Value();
    accumulator.init = nullptr;
    frame.slot(parts_.element_slot).value = Value();
    return result;
  }

 private:
  /// One element; false where the loop ends.
  bool turn(Frame& frame, Value element) const {
    if (!frame.spend(1)) return false;
    frame.slot(parts_.element_slot).value = std::move(element);
    if (parts_.condition->eval(frame).is_false() || frame.stopped()) return false;
    Value next = parts_.step->eval(frame);
    if (frame.stopped()) return false;
    Slot& accumulator = frame.slot(parts_.accumulator_slot);
    accumulator.init = nullptr;
    accumulator.value = std::move(next);
    return true;
  }

  FoldParts parts_;
};

class AppendNode final : public Node {
 public:
  AppendNode(std::size_t slot, std::vector<NodePtr> elements) : slot_(slot), elements_(std::move(elements)) {}

  Value eval(Frame& frame) const override {
    Slot& slot = frame.slot(slot_);
    if (slot.init != nullptr) slot.value = std::exchange(slot.init, nullptr)->eval(frame);
    if (!frame.charge(1)) return frame.stop_value();
    std::vector<Value> added;
    added.reserve(elements_.size());
    Value failed;
    for (const auto& element : elements_) {
      added.push_back(element->eval(frame));
      if (!added.back().is_error()) continue;
      failed = added.back();
      break;
    }
    // The list and the addition cost, whether or not they come to be.
    if (!frame.charge(kListCost + 1)) return frame.stop_value();
    if (slot.value.is_error()) return slot.value;
    if (failed.is_error()) return failed;
    Value list = std::move(slot.value);
    if (ValueAccess::append(list, added)) return list;
    if (!frame.spend(list.size())) return frame.stop_value();
    std::vector<Value> all = list.elements();
    for (Value& element : added) all.push_back(std::move(element));
    return Value::list(std::move(all));
  }

 private:
  std::size_t slot_;
  std::vector<NodePtr> elements_;
};

}  // namespace

NodePtr literal_node(Value value) { return std::make_unique<LiteralNode>(std::move(value)); }

NodePtr and_node(NodePtr left, NodePtr right) { return std::make_unique<LogicNode<false>>(std::move(left), std::move(right)); }

NodePtr or_node(NodePtr left, NodePtr right) { return std::make_unique<LogicNode<true>>(std::move(left), std::move(right)); }

NodePtr equality_node(NodePtr left, NodePtr right, bool negated) {
  return std::make_unique<EqualityNode>(std::move(left), std::move(right), negated);
}

NodePtr list_node(std::vector<NodePtr> elements, std::vector<bool> optional) {
  return std::make_unique<ListBuilder>(std::move(elements), std::move(optional));
}

NodePtr map_node(std::vector<NodePtr> parts, std::vector<bool> optional) {
  return std::make_unique<MapBuilder>(std::move(parts), std::move(optional));
}

NodePtr optional_or_node(NodePtr left, NodePtr right, bool value) {
  return std::make_unique<OptionalOrNode>(std::move(left), std::move(right), value);
}

NodePtr fold_node(FoldParts parts) { return std::make_unique<FoldNode>(std::move(parts)); }

NodePtr append_node(std::size_t accumulator_slot, std::vector<NodePtr> elements) {
  return std::make_unique<AppendNode>(accumulator_slot, std::move(elements));
}

}  // namespace fleetadm::cel
