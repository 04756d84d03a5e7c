#include "core/cel/checker.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/cel/declarations.h"
#include "core/cel/unify.h"

namespace fleetadm::cel {

namespace {

/// Types above this many nodes are refused: `{a: a}` in nested scopes doubles them each time.
constexpr std::size_t kMaxTypeWeight = 4096;
constexpr std::size_t kMaxIssues = 100;

/// 1 < 1.0 and its kin are only known where comparisons have no static types; but see Checker::mixed_.
bool compares_mixed_numbers(const std::string& id) {
  static constexpr std::array<std::string_view, 6> kPairs = {"int64_double", "int64_uint64", "uint64_double",
                                                             "uint64_int64", "double_int64", "double_uint64"};
  if (!id.starts_with("less_") && !id.starts_with("greater_")) return false;
  return std::any_of(kPairs.begin(), kPairs.end(), [&](std::string_view pair) { return id.ends_with(pair); });
}

class Checker {
 public:
  explicit Checker(const Env::Declarations& declarations) : declarations_(declarations) {}

  std::vector<Issue> run(Expr& root) {
    visit(root);
    if (issues_.empty()) finish(root);
    std::stable_sort(issues_.begin(), issues_.end(),
                     [](const Issue& a, const Issue& b) { return std::pair(a.line, a.column) < std::pair(b.line, b.column); });
    return std::move(issues_);
  }

 private:
  struct Local {
    std::string name;
    Type type;
  };

  void report(const Expr& at, std::string message) {
    if (issues_.size() < kMaxIssues) issues_.push_back({at.at.line, at.at.column, std::move(message)});
  }
  void undeclared(Expr& expr, const std::string& name) {
    report(expr, "undeclared reference to '" + name + "'");
    expr.type = Type::error();
  }
  void mismatch(const Expr& at, const Type& wanted, const Type& found) {
    report(at, "expected type '" + shown(wanted) + "' but found '" + shown(found) + "'");
  }
  std::string shown(const Type& type) const { return to_string(unifier_.substitute(type, true)); }

  void set_type(Expr& expr, Type type) {
    if (type.weight() > kMaxTypeWeight) {
      report(expr, "type is too complex");
      type = Type::error();
    }
    expr.type = std::move(type);
  }

  const Local* local(std::string_view name) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->name == name) return &*it;
    }
    return nullptr;
  }

  void visit(Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kLiteral: expr.type = expr.literal.runtime_type(); break;
      case Expr::Kind::kIdent: visit_ident(expr); break;
      case Expr::Kind::kSelect: visit_select(expr); break;
      case Expr::Kind::kCall: visit_call(expr); break;
      case Expr::Kind::kList: visit_list(expr); break;
      case Expr::Kind::kMap: visit_map(expr); break;
      case Expr::Kind::kComprehension: visit_fold(expr); break;
    }
  }

  /// Makes `expr` the name of a variable or constant outside of all comprehensions, if there is one.
  bool resolve_global(Expr& expr, std::string_view name) {
    if (const Constant* constant = declarations_.constant(name)) {
      expr.constant = constant;
      expr.type = constant->type;
    } else if (const int index = declarations_.variable(name); index >= 0) {
      expr.type = declarations_.variables[static_cast<std::size_t>(index)].type;
    } else {
      return false;
    }
    expr.kind = Expr::Kind::kIdent;
    expr.name = std::string(name);
    expr.global = true;
    expr.target.reset();
    return true;
  }

  void visit_ident(Expr& expr) {
    const bool rooted = expr.name.starts_with(".");
    if (!rooted) {
      if (const Local* found = local(expr.name)) {
        expr.type = found->type;
        return;
      }
    }
    const std::string name = rooted ? expr.name.substr(1) : expr.name;
    if (!resolve_global(expr, name)) undeclared(expr, expr.name);
  }

  /// "a.b.c" of a chain of selections that starts with a name; empty otherwise.
  static std::string qualified_name(const Expr& expr) {
    std::vector<std::string_view> parts;
    const Expr* next = &expr;
    while (next->kind == Expr::Kind::kSelect && !next->test_only) {
      parts.push_back(next->name);
      next = next->target.get();
    }
    if (next->kind != Expr::Kind::kIdent) return {};
    std::string name = next->name;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) name.append(".").append(*part);
    return name;
  }

  void visit_select(Expr& expr) {
    // A qualified name of the environment goes before fields, unless a loop's variable hides its first word.
    if (!expr.test_only) {
      const std::string name = qualified_name(expr);
      const bool rooted = name.starts_with(".");
      if (!name.empty() && (rooted || local(name.substr(0, name.find('.'))) == nullptr)) {
        if (resolve_global(expr, rooted ? std::string_view(name).substr(1) : std::string_view(name))) return;
      }
    }
    Type type = select_field(expr, *expr.target, expr.name, false);
    set_type(expr, expr.test_only ? Type::boolean() : unifier_.substitute(type));
  }

  static std::pair<Type, bool> unwrap(const Type& type) {
    if (type.is_optional() && !type.params().empty()) return {type.params()[0], true};
    return {type, false};
  }

  const Struct* structure(const Type& type) const {
    if (type.kind() != TypeKind::kOpaque) return nullptr;
    const auto at = declarations_.structs.find(type.name());
    return at == declarations_.structs.end() ? nullptr : &at->second;
  }

  /// The type of a field of `operand`, which is visited here.
  Type select_field(const Expr& at, Expr& operand, const std::string& field_name, bool optional) {
    visit(operand);
    const auto [target, was_optional] = unwrap(unifier_.substitute(operand.type));
    Type result = Type::dyn();
    if (target.kind() == TypeKind::kMap) {
      result = target.params()[1];
    } else if (target.is_param()) {
      unifier_.assignable(Type::dyn(), target);
    } else if (const Struct* type = structure(target)) {
      const auto field =
          std::find_if(type->fields.begin(), type->fields.end(), [&](const Variable& one) { return one.name == field_name; });
      if (field == type->fields.end()) {
        report(at, "undefined field '" + field_name + "'");
        result = Type::error();
      } else {
        result = field->type;
      }
    } else if (!target.is_dyn() && target.kind() != TypeKind::kError) {
      report(at, "type '" + shown(target) + "' does not support field selection");
    }
    return was_optional || optional ? Type::optional(result) : result;
  }

  void visit_optional_select(Expr& expr) {
    const std::string field(expr.args[1]->literal.text());
    Type type = select_field(expr, *expr.args[0], field, true);
    expr.args[1]->type = Type::string();
    set_type(expr, unifier_.substitute(type));
  }

  void visit_call(Expr& expr) {
    if (expr.name == op::kOptionalSelect && !expr.member && expr.args.size() == 2) {
      visit_optional_select(expr);
      return;
    }
    for (auto& argument : expr.args) visit(*argument);
    if (!expr.member) {
      const std::string name = expr.name.starts_with(".") ? expr.name.substr(1) : expr.name;
      const Function* function = declarations_.function(name);
      if (function == nullptr) return undeclared(expr, expr.name);
      expr.name = name;
      return resolve(expr, *function);
    }
    // a.b(…) may be the function a.b rather than b of a.
    std::string qualified = qualified_name(*expr.target);
    if (!qualified.empty()) {
      qualified.append(".").append(expr.name);
      if (const Function* function = declarations_.function(qualified.starts_with(".") ? qualified.substr(1) : qualified)) {
        expr.member = false;
        expr.target.reset();
        expr.name = function->name;
        return resolve(expr, *function);
      }
    }
    visit(*expr.target);
    const Function* function = declarations_.function(expr.name);
    if (function == nullptr) return undeclared(expr, expr.name);
    resolve(expr, *function);
  }

  void resolve(Expr& expr, const Function& function) {
    std::vector<Type> arguments;
    if (expr.target != nullptr) arguments.push_back(expr.target->type);
    for (const auto& argument : expr.args) arguments.push_back(argument->type);
    expr.function = &function;
    if (function.name == op::kAnd || function.name == op::kOr) return resolve_logical(expr, function);
    std::optional<Type> result;
    for (const Overload& overload : function.overloads) {
      if (overload.member != (expr.target != nullptr) || overload.params.size() != arguments.size()) continue;
      if (overload.undeclared || (!mixed_ && compares_mixed_numbers(overload.id))) continue;
      const Instance instance = instantiate(overload);
      if (!unifier_.assignable(arguments, instance.params)) continue;
      expr.overloads.push_back(&overload);
      Type found = unifier_.substitute(instance.result);
      if (!result) {
        result = std::move(found);
      } else if (!result->is_dyn() && !(found == *result)) {
        result = Type::dyn();
      }
    }
    if (result) return set_type(expr, std::move(*result));
    std::string signature;
    for (std::size_t i = expr.target != nullptr ? 1 : 0; i < arguments.size(); ++i) {
      signature += (signature.empty() ? "" : ", ") + shown(arguments[i]);
    }
    signature = (expr.target != nullptr ? shown(arguments[0]) + ".(" : "(") + signature + ")";
    report(expr, "found no matching overload for '" + function.name + "' applied to '" + signature + "'");
    expr.type = Type::error();
  }

  void resolve_logical(Expr& expr, const Function& function) {
    expr.overloads.push_back(&function.overloads.front());
    expr.type = Type::boolean();
    for (const auto& argument : expr.args) {
      if (unifier_.assignable(argument->type, Type::boolean())) continue;
      mismatch(*argument, Type::boolean(), argument->type);
      expr.type = Type::error();
    }
  }

  struct Instance {
    std::vector<Type> params;
    Type result;
  };
  Instance instantiate(const Overload& overload) {
    std::vector<std::string> names;
    for (const Type& param : overload.params) collect_params(param, names);
    collect_params(overload.result, names);
    if (names.empty()) return {overload.params, overload.result};
    std::vector<Type> fresh;
    fresh.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) fresh.push_back(unifier_.fresh());
    Instance instance;
    for (const Type& param : overload.params) instance.params.push_back(replace_params(param, names, fresh));
    instance.result = replace_params(overload.result, names, fresh);
    return instance;
  }

  /// The type of an element that may be written with a question mark.
  Type element_type(const Expr& element, bool optional) {
    if (!optional) return element.type;
    const auto [type, was_optional] = unwrap(element.type);
    if (!was_optional && !type.is_dyn()) mismatch(element, Type::optional(type), type);
    return type;
  }

  /// What holds both: the more general where they agree, else dyn.
  void join(std::optional<Type>& so_far, const Type& next) {
    if (!so_far) {
      so_far = next;
    } else if (unifier_.assignable(*so_far, next)) {
      so_far = Unifier::most_general(*so_far, next);
    } else {
      so_far = Type::dyn();
    }
  }

  void visit_list(Expr& expr) {
    std::optional<Type> joined;
    for (std::size_t i = 0; i < expr.args.size(); ++i) {
      visit(*expr.args[i]);
      join(joined, element_type(*expr.args[i], expr.optional[i]));
    }
    set_type(expr, Type::list(joined ? *joined : unifier_.fresh()));
  }

  void visit_map(Expr& expr) {
    std::optional<Type> keys;
    std::optional<Type> values;
    for (std::size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      visit(*expr.args[i]);
      join(keys, expr.args[i]->type);
      visit(*expr.args[i + 1]);
      join(values, element_type(*expr.args[i + 1], expr.optional[i / 2]));
    }
    if (!keys) {
      keys = unifier_.fresh();
      values = unifier_.fresh();
    }
    set_type(expr, Type::map(*keys, *values));
  }

  void visit_fold(Expr& expr) {
    Comprehension& fold = *expr.fold;
    visit(*fold.range);
    visit(*fold.init);
    const Type range = unifier_.substitute(fold.range->type);
    Type element = Type::dyn();
    switch (range.kind()) {
      case TypeKind::kList:
      case TypeKind::kMap: element = range.params()[0]; break;
      case TypeKind::kDyn:
      case TypeKind::kError:
      case TypeKind::kParam: unifier_.assignable(Type::dyn(), range); break;
      default:
        report(*fold.range,
               "expression of type '" + shown(range) + "' cannot be range of a comprehension (must be list, map, or dynamic)");
        element = Type::error();
    }
    // Upstream's checker forgets that mixed comparisons are off once it has entered a scope, and so do we.
    mixed_ = true;
    const Type accumulated = fold.init->type;
    locals_.push_back({fold.accumulator, accumulated});
    locals_.push_back({fold.element, element});
    visit(*fold.condition);
    require(*fold.condition, Type::boolean());
    visit(*fold.step);
    require(*fold.step, accumulated);
    locals_.pop_back();
    visit(*fold.result);
    locals_.pop_back();
    set_type(expr, unifier_.substitute(fold.result->type));
  }

  void require(const Expr& expr, const Type& wanted) {
    if (!unifier_.assignable(wanted, expr.type)) mismatch(expr, wanted, expr.type);
  }

  /// Replaces the variables of all types by what they came to be.
  void finish(Expr& expr) {
    expr.type = unifier_.substitute(expr.type, true);
    if (expr.target != nullptr) finish(*expr.target);
    for (auto& argument : expr.args) finish(*argument);
    if (expr.fold != nullptr) {
      for (ExprPtr* part : {&expr.fold->range, &expr.fold->init, &expr.fold->condition, &expr.fold->step, &expr.fold->result})
        finish(**part);
    }
  }

  const Env::Declarations& declarations_;
  Unifier unifier_;
  std::vector<Local> locals_;
  std::vector<Issue> issues_;
  bool mixed_ = false;
};

}  // namespace

std::vector<Issue> check(Expr& root, const Env::Declarations& declarations) { return Checker(declarations).run(root); }

}  // namespace fleetadm::cel
