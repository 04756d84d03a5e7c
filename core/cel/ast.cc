#include "core/cel/ast.h"

#include <utility>

namespace fleetadm::cel {

ExprPtr MacroContext::make(Expr::Kind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = at_;
  return expr;
}

ExprPtr MacroContext::literal(Value value) const {
  auto expr = make(Expr::Kind::kLiteral);
  expr->literal = std::move(value);
  return expr;
}

ExprPtr MacroContext::ident(std::string name) const {
  auto expr = make(Expr::Kind::kIdent);
  expr->name = std::move(name);
  return expr;
}

ExprPtr MacroContext::call(std::string function, ExprPtr a, ExprPtr b, ExprPtr c) const {
  auto expr = make(Expr::Kind::kCall);
  expr->name = std::move(function);
  for (ExprPtr* argument : {&a, &b, &c}) {
    if (*argument != nullptr) expr->args.push_back(std::move(*argument));
  }
  return expr;
}

ExprPtr MacroContext::member_call(ExprPtr target, std::string function) const {
  auto expr = call(std::move(function));
  expr->member = true;
  expr->target = std::move(target);
  return expr;
}

ExprPtr MacroContext::list(ExprPtr element) const {
  auto expr = make(Expr::Kind::kList);
  if (element != nullptr) {
    expr->args.push_back(std::move(element));
    expr->optional.push_back(false);
  }
  return expr;
}

ExprPtr MacroContext::fold(Comprehension parts) const {
  auto expr = make(Expr::Kind::kComprehension);
  expr->fold = std::make_unique<Comprehension>(std::move(parts));
  return expr;
}

ExprPtr MacroContext::copy(const Expr& expr) {
  if (budget_ == 0) return fail(expr, "expression is too large once its macros are expanded");
  --budget_;
  auto result = std::make_unique<Expr>();
  result->kind = expr.kind;
  result->test_only = expr.test_only;
  result->member = expr.member;
  result->at = expr.at;
  result->name = expr.name;
  result->literal = expr.literal;
  result->optional = expr.optional;
  if (expr.target != nullptr && (result->target = copy(*expr.target)) == nullptr) return nullptr;
  for (const auto& argument : expr.args) {
    auto duplicate = copy(*argument);
    if (duplicate == nullptr) return nullptr;
    result->args.push_back(std::move(duplicate));
  }
  if (expr.fold != nullptr) {
    const Comprehension& from = *expr.fold;
    Comprehension parts{.element = from.element, .accumulator = from.accumulator};
    const std::pair<const ExprPtr*, ExprPtr*> pairs[] = {{&from.range, &parts.range},
                                                         {&from.init, &parts.init},
                                                         {&from.condition, &parts.condition},
                                                         {&from.step, &parts.step},
                                                         {&from.result, &parts.result}};
    for (const auto& [source, copied] : pairs) {
      *copied = copy(**source);
      if (*copied == nullptr) return nullptr;
    }
    result->fold = std::make_unique<Comprehension>(std::move(parts));
  }
  return result;
}

ExprPtr MacroContext::fail(const Expr& where, std::string message) {
  if (failure_.empty()) {
    failure_ = std::move(message);
    failed_at_ = where.at;
  }
  return nullptr;
}

}  // namespace fleetadm::cel
