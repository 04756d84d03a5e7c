// The nodes of a plan beside paths (attribute.h): literals, logic, constructors, folds and calls.
#pragma once

#include <cstddef>
#include <vector>

#include "core/cel/cost.h"
#include "core/cel/frame.h"
#include "core/cel/library.h"

namespace fleetadm::cel {

NodePtr literal_node(Value value);
/// a && b, a || b: errors count only where the other side does not decide.
NodePtr and_node(NodePtr left, NodePtr right);
NodePtr or_node(NodePtr left, NodePtr right);
/// a == b, a != b.
NodePtr equality_node(NodePtr left, NodePtr right, bool negated);
NodePtr list_node(std::vector<NodePtr> elements, std::vector<bool> optional);
/// Keys and values by turns.
NodePtr map_node(std::vector<NodePtr> parts, std::vector<bool> optional);
/// optional.or(optional), optional.orValue(value): the argument is evaluated only where it is needed.
NodePtr optional_or_node(NodePtr left, NodePtr right, bool value);

struct FoldParts {
  std::size_t element_slot = 0;
  std::size_t accumulator_slot = 0;
  NodePtr range;
  NodePtr init;
  NodePtr condition;
  NodePtr step;
  NodePtr result;
};
NodePtr fold_node(FoldParts parts);
/// accumulator + [elements…] in the step of a fold: adds in place. `list` is the list's node.
NodePtr append_node(std::size_t accumulator_slot, std::vector<NodePtr> elements);

struct CallPlan {
  std::string function;
  /// Tried in this order until one fits the values.
  std::vector<const Overload*> candidates;
  /// Literal arguments may have made an implementation of its own for the one candidate.
  Implementation specialised;
  /// The overload whose cost counts; nullptr where the types left several.
  const Overload* decided = nullptr;
  /// All arguments are evaluated even where an early one failed.
  bool eager = true;
};
NodePtr call_node(CallPlan plan, std::vector<NodePtr> args);

/// Whether a value may be passed where `type` is declared: kinds, and of lists and maps the first element.
bool fits(const Type& type, const Value& value);

}  // namespace fleetadm::cel
