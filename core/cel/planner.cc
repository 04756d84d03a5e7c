#include "core/cel/planner.h"

#include <optional>
#include <utility>

#include "core/cel/attribute.h"
#include "core/cel/declarations.h"
#include "core/cel/nodes.h"

namespace fleetadm::cel {

namespace {

class Planner {
 public:
  Planner(const Env::Declarations& declarations, Program::Plan& plan) : declarations_(declarations), plan_(plan) {}

  NodePtr node(Expr& expr) {
    if (issue_) return literal_node(Value());
    switch (expr.kind) {
      case Expr::Kind::kLiteral: return literal_node(expr.literal);
      case Expr::Kind::kIdent: return name(expr);
      case Expr::Kind::kSelect: return select(expr);
      case Expr::Kind::kCall: return call(expr);
      case Expr::Kind::kList: return list_node(nodes(expr.args), expr.optional);
      case Expr::Kind::kMap: return map_node(nodes(expr.args), expr.optional);
      case Expr::Kind::kComprehension: return fold(expr);
    }
    return literal_node(Value());
  }
  const std::optional<Issue>& issue() const { return issue_; }

 private:
  struct Local {
    std::string name;
    std::size_t slot;
  };

  NodePtr refuse(const Expr& at, std::string message) {
    if (!issue_) issue_ = Issue{at.at.line, at.at.column, std::move(message)};
    return literal_node(Value());
  }

  std::vector<NodePtr> nodes(std::vector<ExprPtr>& exprs) {
    std::vector<NodePtr> result;
    result.reserve(exprs.size());
    for (auto& expr : exprs) result.push_back(node(*expr));
    return result;
  }

  const Local* local(std::string_view wanted) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->name == wanted) return &*it;
    }
    return nullptr;
  }

  NodePtr name(const Expr& expr) {
    if (expr.constant != nullptr) return literal_node(expr.constant->value);
    // Upstream takes a name whose type is a type for that type's own name.
    if (expr.type.kind() == TypeKind::kType) return refuse(expr, "reference to undefined type: " + expr.name);
    if (!expr.global) {
      if (const Local* found = local(expr.name)) return slot_attribute(found->slot);
    }
    const int index = declarations_.variable(expr.name);
    if (index < 0) return refuse(expr, "undeclared reference to '" + expr.name + "'");
    return global_attribute(static_cast<std::size_t>(index), expr.name);
  }

  /// The node as a path that can be gone on with.
  static AttributePtr as_attribute(NodePtr node) {
    if (AttributeNode* attribute = node->attribute()) {
      node.release();
      return AttributePtr(attribute);
    }
    return relative_attribute(std::move(node));
  }

  NodePtr select(Expr& expr) {
    AttributePtr path = as_attribute(node(*expr.target));
    auto qualifier = std::make_shared<Qualifier>();
    qualifier->key = Value::string(expr.name);
    qualifier->test_only = expr.test_only;
    path->add(std::move(qualifier));
    if (expr.test_only) path->set_test_only();
    return path;
  }

  NodePtr index(const Expr& expr, std::vector<NodePtr> args, bool optional) {
    AttributePtr path = as_attribute(std::move(args[0]));
    auto qualifier = std::make_shared<Qualifier>();
    qualifier->optional = optional;
    if (const Value* key = args[1]->literal()) {
      switch (key->kind()) {
        case Kind::kString:
        case Kind::kInt:
        case Kind::kUint:
        case Kind::kBool:
        case Kind::kDouble: break;
        default: return refuse(expr, "invalid qualifier type: " + key->runtime_type().name());
      }
      qualifier->key = *key;
    } else {
      qualifier->dynamic = as_attribute(std::move(args[1]));
    }
    path->add(std::move(qualifier));
    return path;
  }

  NodePtr call(Expr& expr) {
    std::vector<NodePtr> args;
    if (expr.target != nullptr) args.push_back(node(*expr.target));
    for (auto& argument : expr.args) args.push_back(node(*argument));
    if (issue_) return literal_node(Value());
    const std::string& function = expr.function != nullptr ? expr.function->name : expr.name;
    if (args.size() == 2) {
      if (function == op::kAnd) return and_node(std::move(args[0]), std::move(args[1]));
      if (function == op::kOr) return or_node(std::move(args[0]), std::move(args[1]));
      if (function == op::kEquals || function == op::kNotEquals) {
        return equality_node(std::move(args[0]), std::move(args[1]), function == op::kNotEquals);
      }
      if (function == op::kIndex) return index(expr, std::move(args), false);
      if (function == op::kOptionalIndex || function == op::kOptionalSelect) return index(expr, std::move(args), true);
      const bool decided = expr.overloads.size() == 1;
      if (decided && expr.overloads[0]->id == "optional_or_optional")
        return optional_or_node(std::move(args[0]), std::move(args[1]), false);
      if (decided && expr.overloads[0]->id == "optional_orValue_value")
        return optional_or_node(std::move(args[0]), std::move(args[1]), true);
    }
    if (function == op::kConditional && args.size() == 3) {
      return conditional_attribute(std::move(args[0]), as_attribute(std::move(args[1])), as_attribute(std::move(args[2])));
    }
    return plain_call(expr, std::move(args));
  }

  NodePtr plain_call(const Expr& expr, std::vector<NodePtr> args) {
    if (expr.function == nullptr || expr.overloads.empty()) return refuse(expr, "no such overload: " + expr.name);
    CallPlan plan;
    plan.function = expr.function->name;
    plan.candidates = expr.overloads;
    const bool one = expr.overloads.size() == 1;
    if (one) plan.decided = expr.overloads[0];
    if (!one || expr.function->singleton) {
      // Before run time is not known which it will be: any of the function's may.
      for (const Overload& overload : expr.function->overloads) {
        if (!one || &overload != plan.decided) plan.candidates.push_back(&overload);
      }
      if (!one)
        plan.candidates.erase(plan.candidates.begin(),
                              plan.candidates.begin() + static_cast<std::ptrdiff_t>(expr.overloads.size()));
    }
    if (one && plan.decided->specialise) {
      std::vector<std::optional<Value>> literals;
      for (const auto& argument : args)
        literals.push_back(argument->literal() ? std::optional<Value>(*argument->literal()) : std::nullopt);
      auto specialised = plan.decided->specialise(literals);
      if (!specialised) return refuse(expr, specialised.error().message);
      plan.specialised = std::move(*specialised);
    }
    plan.eager = args.size() <= 2 && (one || expr.function->singleton || expr.function->overloads.size() == 1);
    if (plan.specialised && plan.decided->in_order_when_specialised) plan.eager = false;
    return call_node(std::move(plan), std::move(args));
  }

  NodePtr fold(Expr& expr) {
    Comprehension& source = *expr.fold;
    FoldParts parts;
    parts.init = node(*source.init);
    parts.range = node(*source.range);
    parts.accumulator_slot = plan_.slots++;
    parts.element_slot = plan_.slots++;
    locals_.push_back({source.accumulator, parts.accumulator_slot});
    locals_.push_back({source.element, parts.element_slot});
    parts.condition = node(*source.condition);
    parts.step = step(*source.step, source.accumulator, parts.accumulator_slot);
    locals_.pop_back();
    parts.result = node(*source.result);
    locals_.pop_back();
    return fold_node(std::move(parts));
  }

  /// The step of a fold; where it adds to the accumulated list, by a node that does not copy it.
  NodePtr step(Expr& expr, const std::string& accumulator, std::size_t slot) {
    if (is_append(expr, accumulator)) return append_node(slot, nodes(expr.args[1]->args));
    if (expr.kind == Expr::Kind::kCall && expr.name == op::kConditional && expr.args.size() == 3 &&
        is_append(*expr.args[1], accumulator)) {
      NodePtr condition = node(*expr.args[0]);
      NodePtr added = append_node(slot, nodes(expr.args[1]->args[1]->args));
      return conditional_attribute(std::move(condition), as_attribute(std::move(added)), as_attribute(node(*expr.args[2])));
    }
    return node(expr);
  }
  /// Only what the macros make: their accumulator has no name that the elements could mention.
  static bool is_append(const Expr& expr, const std::string& accumulator) {
    return accumulator == kAccumulator && expr.kind == Expr::Kind::kCall && expr.name == op::kAdd && expr.args.size() == 2 &&
           expr.args[0]->kind == Expr::Kind::kIdent && expr.args[0]->name == accumulator &&
           expr.args[1]->kind == Expr::Kind::kList && expr.args[1]->optional.size() == 1 && !expr.args[1]->optional[0];
  }

  const Env::Declarations& declarations_;
  Program::Plan& plan_;
  std::vector<Local> locals_;
  std::optional<Issue> issue_;
};

}  // namespace

tl::expected<std::unique_ptr<Program::Plan>, Issue> plan(Expr& root, std::shared_ptr<const Env::Declarations> declarations) {
  auto result = std::make_unique<Program::Plan>();
  Planner planner(*declarations, *result);
  result->root = planner.node(root);
  if (planner.issue()) return tl::unexpected(*planner.issue());
  result->type = root.type;
  result->declarations = std::move(declarations);
  return result;
}

}  // namespace fleetadm::cel
