// Variables and values with the selections that follow them: a.b["c"].?d. One node holds the whole path, because upstream's costs
// and the spreading of optionals are those of paths: a variable is free as a branch of ?: and as an index, and costs one
// elsewhere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/cel/frame.h"

namespace fleetadm::cel {

/// One selection or index.
struct Qualifier {
  Value key;                               // a literal key…
  std::shared_ptr<AttributeNode> dynamic;  // …or what computes it
  bool optional = false;
  bool test_only = false;  // has(): whether it is there
};

class AttributeNode : public Node {
 public:
  Value eval(Frame& frame) const override {
    Value value = resolve(frame);
    frame.charge(own_cost());
    if (test_only_ && value.is(Kind::kOptional)) return Value::boolean(value.content().has_value());
    return value;
  }
  AttributeNode* attribute() override { return this; }

  /// The value at the end of the path; charges for its selections, but not for the attribute itself.
  virtual Value resolve(Frame& frame) const = 0;
  virtual void add(const std::shared_ptr<const Qualifier>& qualifier) = 0;
  void set_test_only() { test_only_ = true; }

 protected:
  virtual std::uint64_t own_cost() const { return 1; }

 private:
  bool test_only_ = false;
};

using AttributePtr = std::unique_ptr<AttributeNode>;

/// A variable of the environment.
AttributePtr global_attribute(std::size_t index, std::string name);
/// A variable of a comprehension.
AttributePtr slot_attribute(std::size_t index);
/// What another node yields.
AttributePtr relative_attribute(NodePtr operand);
/// condition ? yes : no; selections go on in both branches.
AttributePtr conditional_attribute(NodePtr condition, AttributePtr yes, AttributePtr no);

}  // namespace fleetadm::cel
