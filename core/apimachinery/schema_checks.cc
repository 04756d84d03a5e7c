// x-kubernetes-validations of a definition: what does not compile, names what is not there or may cost too much is refused.
#include <algorithm>
#include <array>
#include <cstdio>
#include <re2/re2.h>

#include "core/apimachinery/schema_types.h"
#include "core/cel/cost_estimate.h"
#include "core/cel/library/libraries.h"
#include "kubeclient/base/go_json.h"

namespace fleetadm::apimachinery {
namespace {

constexpr std::uint64_t kRuleCostLimit = 10'000'000;
constexpr std::uint64_t kSchemaCostLimit = 100'000'000;
constexpr std::size_t kDearestTold = 4;

Result<cel::Env> environment_of(const DeclaredTypes& types, bool optional_old) {
  std::vector<cel::Library> libraries;
  libraries.push_back(cel::standard_library());
  libraries.push_back(cel::optional_library());
  libraries.push_back(cel::strings_library());
  libraries.push_back(cel::lists_library());
  libraries.push_back(cel::sets_library());
  libraries.push_back(cel::regex_library());
  libraries.push_back(cel::urls_library());
  libraries.push_back(cel::quantity_library());
  libraries.push_back(cel::ip_library());
  libraries.push_back(cel::cidr_library());
  libraries.push_back(cel::format_library());
  libraries.push_back(cel::semver_library());
  cel::Library variables{.name = "schema rule"};
  variables.variables.push_back({"self", types.self});
  variables.variables.push_back({"oldSelf", optional_old ? cel::Type::optional(types.self) : types.self});
  variables.structs = types.structs;
  libraries.push_back(std::move(variables));
  return cel::Env::build(std::move(libraries));
}

std::string trim(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\n\r");
  return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(" \t\n\r") - begin + 1);
}

/// The rule as messages show it: with all members, and with what Go's JSON escapes.
std::string shown(const Json& rule) {
  const auto text = [&](const char* key) { return dump_go_json(Json(str(rule, {key}))); };
  const Json* reason = find(rule, {"reason"});
  const Json* optional_old = find(rule, {"optionalOldSelf"});
  return "{\"Rule\":" + text("rule") + ",\"Message\":" + text("message") + ",\"MessageExpression\":" + text("messageExpression") +
         ",\"Reason\":" + (reason == nullptr ? "null" : dump_go_json(*reason)) + ",\"FieldPath\":" + text("fieldPath") +
         ",\"OptionalOldSelf\":" + (optional_old == nullptr ? "null" : dump_go_json(*optional_old)) + "}";
}

Cause invalid_rule(const std::string& field, const Json& rule, const std::string& detail) {
  return {"FieldValueInvalid", "Invalid value: " + shown(rule) + ": " + detail, field};
}

std::string too_dear(const char* what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  std::array<char, 40> text{};
  if (factor > 100) {
    std::snprintf(text.data(), text.size(), "more than 100x");
  } else {
    std::snprintf(text.data(), text.size(), factor < 1.5 ? "%fx" : "%.1fx", factor);
  }
  return std::string(what) + " exceeds budget by factor of " + text.data() +
         " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
}

std::uint64_t times(std::uint64_t cost, std::uint64_t count) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(cost, count, &product) ? UINT64_MAX : product;
}

/// The expression compiled, if it fits its type and its budget.
class RuleCompiler {
 public:
  RuleCompiler(const cel::Env& env, const SchemaNode& self, const Json& rule, RuleCosts& costs, Causes& causes)
      : env_(env), self_(self), rule_(rule), costs_(costs), causes_(causes) {}

  std::optional<cel::Program> expression(const std::string& text, const std::string& field) {
    auto program = compiled(text, field, "compilation failed: ", cel::TypeKind::kBool, "cel expression must evaluate to a bool");
    if (program) budget(text, field, "estimated rule cost");
    return program;
  }
  std::optional<cel::Program> message(const std::string& text, const std::string& field) {
    auto program = compiled(text, field, "messageExpression compilation failed: ", cel::TypeKind::kString,
                            "messageExpression must evaluate to a string");
    if (program) budget(text, field, "estimated messageExpression cost");
    return program;
  }

 private:
  std::optional<cel::Program> compiled(const std::string& text, const std::string& field, const char* failed,
                                       cel::TypeKind wanted, const char* other_type) {
    auto program = env_.compile(text);
    if (!program) {
      causes_.push_back(invalid_rule(field, rule_, failed + program.error().render()));
      return std::nullopt;
    }
    if (program->result_type().kind() == wanted || program->result_type().is_dyn()) return std::move(*program);
    causes_.push_back(invalid_rule(field, rule_, other_type));
    return std::nullopt;
  }

  void budget(const std::string& text, const std::string& field, const char* what) {
    const auto range = env_.estimate_cost(text, [this](std::span<const std::string> path) { return max_size_at(self_, path); });
    if (!range) return;
    const std::uint64_t cost = times(range->max, costs_.occurrences ? *costs_.occurrences : max_occurrences(self_));
    costs_.add(field, cost);
    if (cost > kRuleCostLimit) causes_.push_back(forbidden_field(field, too_dear(what, cost, kRuleCostLimit)));
  }

  const cel::Env& env_;
  const SchemaNode& self_;
  const Json& rule_;
  RuleCosts& costs_;
  Causes& causes_;
};

}  // namespace

void RuleCosts::add(const std::string& field, std::uint64_t cost) {
  total = cost > UINT64_MAX - total ? UINT64_MAX : total + cost;
  dearest.emplace_back(cost, field);
  std::stable_sort(dearest.begin(), dearest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (dearest.size() > kDearestTold) dearest.pop_back();
}

void RuleCosts::report(const std::string& schema_field, Causes& causes) const {
  if (total <= kSchemaCostLimit) return;
  for (const auto& [cost, field] : dearest)
    causes.push_back(
        forbidden_field(field, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"));
  causes.push_back(forbidden_field(
      schema_field,
      too_dear("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", total, kSchemaCostLimit)));
}

void compile_rules(const Json& rules, const std::string& field, bool resource, SchemaNode& into, RuleCosts& costs,
                   Causes& causes) {
  const DeclaredTypes types = declare_types(into, resource);
  static const RE2 kOldSelf(R"(\boldSelf\b)");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string here = field + "[" + std::to_string(i) + "]";
    SchemaRule rule;
    rule.rule = str(rules[i], {"rule"});
    rule.message = trim(str(rules[i], {"message"}));
    rule.reason = str(rules[i], {"reason"}, "FieldValueInvalid");
    rule.field_path = str(rules[i], {"fieldPath"});
    rule.optional_old = flag(rules[i], {"optionalOldSelf"});
    rule.transition = RE2::PartialMatch(rule.rule, kOldSelf);
    if (trim(rule.rule).empty()) {
      causes.push_back(required(here + ".rule", "rule is not specified"));
      continue;
    }
    auto env = environment_of(types, rule.optional_old);
    if (!env) {
      causes.push_back(invalid_without_value(here + ".rule", env.error().message));
      continue;
    }
    RuleCompiler compiler(*env, into, rules[i], costs, causes);
    rule.program = compiler.expression(rule.rule, here + ".rule");
    if (!rule.program) continue;
    if (const std::string expression = str(rules[i], {"messageExpression"}); !expression.empty()) {
      rule.message_program = compiler.message(expression, here + ".messageExpression");
      if (!rule.message_program) continue;
    }
    into.rules.push_back(std::move(rule));
  }
}

}  // namespace fleetadm::apimachinery
