#include "core/cel/library/format_check.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/cel/library/string_format.h"

namespace fleetadm::cel {
namespace {

bool is_one_of(const Type& type, std::initializer_list<TypeKind> kinds) {
  return type.is_dyn() || std::find(kinds.begin(), kinds.end(), type.kind()) != kinds.end();
}

/// The first part of a value for %s that has no text form, or nullptr. Literal lists and maps are looked into.
const Expr* without_text(const Expr& expr) {
  if (!is_one_of(expr.type, {TypeKind::kList, TypeKind::kMap, TypeKind::kInt, TypeKind::kUint, TypeKind::kDouble, TypeKind::kBool,
                             TypeKind::kString, TypeKind::kTimestamp, TypeKind::kBytes, TypeKind::kDuration, TypeKind::kType,
                             TypeKind::kNull})) {
    return &expr;
  }
  if (expr.kind != Expr::Kind::kList && expr.kind != Expr::Kind::kMap) return nullptr;
  for (const ExprPtr& part : expr.args) {
    if (const Expr* found = without_text(*part)) return found;
  }
  return nullptr;
}

/// What may not be formatted by the clause, or nullptr.
const Expr* misfit(const FormatClause& clause, const Expr& argument) {
  const auto unless = [&](std::initializer_list<TypeKind> kinds) {
    return is_one_of(argument.type, kinds) ? nullptr : &argument;
  };
  switch (clause.verb) {
    case 'd':
    case 'f':
    case 'e': return unless({TypeKind::kInt, TypeKind::kUint, TypeKind::kDouble});
    case 'b': return unless({TypeKind::kBool, TypeKind::kInt, TypeKind::kUint});
    case 'x':
    case 'X': return unless({TypeKind::kInt, TypeKind::kUint, TypeKind::kString, TypeKind::kBytes});
    case 'o': return unless({TypeKind::kInt, TypeKind::kUint});
    default: return without_text(argument);
  }
}

bool is_literal_format(const Expr& node) {
  if (node.kind != Expr::Kind::kCall || !node.member || node.name != "format" || node.args.size() != 1) return false;
  const bool literal = node.target && node.target->kind == Expr::Kind::kLiteral && node.target->literal.is(Kind::kString);
  return literal && node.args.front()->kind == Expr::Kind::kList;
}

}  // namespace

void check_format(const Expr& node, std::vector<Issue>& issues) {
  if (!is_literal_format(node)) return;
  const auto report = [&](const Expr& where, std::string message) {
    issues.push_back({where.at.line, where.at.column, std::move(message)});
  };
  const auto& arguments = node.args.front()->args;
  const auto clauses = parse_format(node.target->literal.text(), arguments.size());
  if (!clauses) return report(node, clauses.error().message);
  std::size_t used = 0;
  for (const FormatClause& clause : *clauses) {
    if (clause.verb == 0) break;
    if (const Expr* wrong = misfit(clause, *arguments[used])) {
      return report(*wrong, std::string("%") + clause.verb + " cannot format a value of type " + to_string(wrong->type));
    }
    ++used;
  }
  if (arguments.size() > used) {
    report(node, "too many arguments supplied to string.format (expected " + std::to_string(used) + ", got " +
                     std::to_string(arguments.size()) + ")");
  }
}

}  // namespace fleetadm::cel
