#include "core/cel/attribute.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace fleetadm::cel {

namespace {

using QualifierList = std::vector<std::shared_ptr<const Qualifier>>;

struct Found {
  Value value;  // or an error
  bool present = false;
};

Found missing(const Value& key) { return {Value::error("no such key: " + display(key, 100)), false}; }

/// A list's index from a number without fraction; none for other values.
std::optional<std::int64_t> list_index(const Value& key) {
  constexpr std::uint64_t kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  switch (key.kind()) {
    case Kind::kInt: return key.as_int();
    case Kind::kUint:
      if (key.as_uint() > kMax) return std::nullopt;
      return static_cast<std::int64_t>(key.as_uint());
    case Kind::kDouble: {
      const double value = key.as_double();
      if (!(value > -0x1p63 && value < 0x1p63) || std::trunc(value) != value) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default: return std::nullopt;
  }
}

bool may_be_key(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kBool:
    case Kind::kDouble: return true;
    default: return false;
  }
}

/// object[key]. `test`: an absent key is no error.
Found look_up(const Value& object, const Value& key, bool test) {
  switch (object.kind()) {
    case Kind::kMap: {
      auto value = key.is(Kind::kString) ? object.find(key.text()) : object.find(key);
      if (value) return {std::move(*value), true};
      return test ? Found{} : missing(key);
    }
    case Kind::kList: {
      const auto index = list_index(key);
      if (!index) return {Value::error("unsupported index type in list: " + display(key, 100)), false};
      if (*index >= 0 && static_cast<std::uint64_t>(*index) < object.size())
        return {object.at(static_cast<std::size_t>(*index)), true};
      if (test) return {};
      return {Value::error("index out of bounds: " + std::to_string(*index)), false};
    }
    case Kind::kError: return {object, false};
    default: return test ? Found{} : missing(key);
  }
}

/// One step of a path; errors are error values.
Found step(Frame& frame, const Value& object, const Qualifier& qualifier, bool test) {
  if (qualifier.dynamic == nullptr) return look_up(object, qualifier.key, test || qualifier.test_only);
  const Value key = qualifier.dynamic->resolve(frame);
  if (key.is_error()) return {key, false};
  if (!may_be_key(key)) return {Value::error("invalid qualifier type: " + key.runtime_type().name()), false};
  return look_up(object, key, test);
}

Value follow(Frame& frame, Value object, const QualifierList& qualifiers) {
  if (object.is_error()) return object;
  bool optional = false;
  if (object.is(Kind::kOptional)) {
    auto content = object.content();
    if (!content) return object;
    if (qualifiers.empty()) return object;
    optional = true;
    object = std::move(*content);
  }
  for (const auto& qualifier : qualifiers) {
    optional = optional || qualifier->optional;
    Found found = step(frame, object, *qualifier, optional);
    if (frame.stopped()) return frame.stop_value();
    if (optional) {
      // Only what is there is charged for.
      if (found.value.is_error()) return std::move(found.value);
      if (!found.present) return Value::optional_none();
      if (!frame.charge(1)) return frame.stop_value();
    } else {
      if (!frame.charge(1)) return frame.stop_value();
      if (found.value.is_error()) return std::move(found.value);
      if (qualifier->test_only) found.value = Value::boolean(found.present);
    }
    object = std::move(found.value);
  }
  return optional ? Value::optional_of(std::move(object)) : object;
}

class PathNode : public AttributeNode {
 public:
  void add(const std::shared_ptr<const Qualifier>& qualifier) override { qualifiers_.push_back(qualifier); }

 protected:
  QualifierList qualifiers_;
};

class GlobalAttribute final : public PathNode {
 public:
  GlobalAttribute(std::size_t index, std::string name) : index_(index), name_(std::move(name)) {}

  Value resolve(Frame& frame) const override {
    const Value* value = frame.global(index_);
    if (value == nullptr) return Value::error("no such attribute(s): " + name_);
    return follow(frame, *value, qualifiers_);
  }

 private:
  std::size_t index_;
  std::string name_;
};

class SlotAttribute final : public PathNode {
 public:
  explicit SlotAttribute(std::size_t index) : index_(index) {}

  Value resolve(Frame& frame) const override {
    Slot& slot = frame.slot(index_);
    if (slot.init != nullptr) slot.value = std::exchange(slot.init, nullptr)->eval(frame);
    return follow(frame, slot.value, qualifiers_);
  }

 private:
  std::size_t index_;
};

class RelativeAttribute final : public PathNode {
 public:
  explicit RelativeAttribute(NodePtr operand) : operand_(std::move(operand)) {}

  Value resolve(Frame& frame) const override { return follow(frame, operand_->eval(frame), qualifiers_); }

 private:
  NodePtr operand_;
};

class ConditionalAttribute final : public AttributeNode {
 public:
  ConditionalAttribute(NodePtr condition, AttributePtr yes, AttributePtr no)
      : condition_(std::move(condition)), yes_(std::move(yes)), no_(std::move(no)) {}

  Value resolve(Frame& frame) const override {
    Value condition = condition_->eval(frame);
    if (condition.is_true()) return yes_->resolve(frame);
    if (condition.is_false()) return no_->resolve(frame);
    return condition.is_error() ? condition : Value::no_such_overload();
  }
  void add(const std::shared_ptr<const Qualifier>& qualifier) override {
    yes_->add(qualifier);
    no_->add(qualifier);
  }

 protected:
  std::uint64_t own_cost() const override { return 0; }

 private:
  NodePtr condition_;
  AttributePtr yes_;
  AttributePtr no_;
};

}  // namespace

AttributePtr global_attribute(std::size_t index, std::string name) {
  return std::make_unique<GlobalAttribute>(index, std::move(name));
}

AttributePtr slot_attribute(std::size_t index) { return std::make_unique<SlotAttribute>(index); }

AttributePtr relative_attribute(NodePtr operand) { return std::make_unique<RelativeAttribute>(std::move(operand)); }

AttributePtr conditional_attribute(NodePtr condition, AttributePtr yes, AttributePtr no) {
  return std::make_unique<ConditionalAttribute>(std::move(condition), std::move(yes), std::move(no));
}

}  // namespace fleetadm::cel
