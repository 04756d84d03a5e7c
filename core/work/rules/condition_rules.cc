#include "core/work/rules/condition_rules.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cel/library/environments.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

constexpr std::string_view kEvaluated = "ConditionRuleEvaluated";
constexpr std::string_view kExpressionError = "ConditionRuleExpressionError";
constexpr std::string_view kInternalError = "ConditionRuleInternalError";
constexpr std::string_view kInvalid = "ConditionRuleInvalid";

struct Environments {
  Result<cel::Env> rule = cel::condition_environment(false);
  Result<cel::Env> message = cel::condition_environment(true);
};

// Built once: they never change.
const Environments& environments() {
  static const Environments kEnvironments;
  return kEnvironments;
}

struct Rule {
  std::string condition;
  std::vector<std::string> expressions;
  std::string message;
  std::string message_expression;
};

struct RuleVerdict {
  std::string_view status;
  std::string_view reason;
  std::string error;  // empty: evaluated
};

Json condition_of(const std::string& type, std::string_view status, std::string_view reason, std::string message) {
  return Json::object({{"type", type}, {"status", status}, {"reason", reason}, {"message", std::move(message)}});
}

/// The rule that a kind has of its own; nullopt: none. Texts that the rule gives win.
std::optional<Rule> well_known(const Json& object, const std::string& condition) {
  if (condition != kConditionComplete) return std::nullopt;
  const std::string api_version = str(object, {"apiVersion"});
  const std::string kind = str(object, {"kind"});
  if (api_version == "batch/v1" && kind == "Job") {
    return Rule{condition,
                {"hasConditions(object.status) ? object.status.conditions.filter(c, c.type in ['Complete', 'Failed'])"
                 ".exists(c, c.status == 'True') : false"},
                "",
                "result ? 'Job is finished' : 'Job is not finished'"};
  }
  if (api_version == "v1" && kind == "Pod") {
    return Rule{condition,
                {"object.status.phase == 'Succeeded' || object.status.phase == 'Failed'"},
                "",
                "'Pod is in phase ' + object.status.phase"};
  }
  return std::nullopt;
}

RuleVerdict evaluate(const Rule& rule, const Json& object, std::uint64_t& budget) {
  const Result<cel::Env>& env = environments().rule;
  if (!env) return {"Unknown", kInternalError, env.error().message};
  for (const std::string& expression : rule.expressions) {
    const auto program = env->compile(expression);
    if (!program) {
      // A text that is none is the author's to mend; one that cannot be planned is nobody's fault.
      const bool planned = program.error().phase == cel::CompileFailure::Phase::kPlan;
      return {planned ? "Unknown" : "False", planned ? kInternalError : kExpressionError, program.error().render()};
    }
    const cel::Outcome outcome = program->evaluate({{"object", cel::Value::view(object)}});
    if (outcome.cost > budget) return {"False", kExpressionError, "CEL evaluation budget exceeded"};
    if (!outcome.ok()) return {"False", kExpressionError, std::string(outcome.value.text())};
    budget -= outcome.cost;
    const cel::Value value = cel::taken_as(outcome.value);
    if (!value.is(cel::Kind::kBool)) {
      return {"False", kExpressionError, "expected bool result, got " + outcome.value.runtime_type().name()};
    }
    if (value.is_false()) return {"False", kEvaluated, ""};
  }
  return {"True", kEvaluated, ""};
}

std::string message_of(const Rule& rule, const Json& object, bool result) {
  if (!rule.message_expression.empty()) {
    const Result<cel::Env>& env = environments().message;
    if (!env) return env.error().message;
    const auto program = env->compile(rule.message_expression);
    if (!program) {
      const std::string text = program.error().render();
      return text.substr(0, text.find('\n'));
    }
    const cel::Outcome outcome = program->evaluate(
        {{"object", cel::Value::view(object)}, {"result", cel::Value::boolean(result)}}, {.cost = cel::kObjectCostBudget});
    if (!outcome.ok()) return std::string(outcome.value.text());
    const cel::Value value = cel::taken_as(outcome.value);
    if (!value.is(cel::Kind::kString)) {
      return "expected message expression to have a string result, got " + outcome.value.runtime_type().name();
    }
    if (!value.text().empty()) return std::string(value.text());
  }
  if (!rule.message.empty()) return rule.message;
  return (result ? "Manifest is " : "Manifest is not ") + rule.condition;
}

}  // namespace

Json evaluate_condition_rules(const Json& rules, const Json& object) {
  Json conditions = Json::array();
  if (!rules.is_array()) return conditions;
  std::uint64_t budget = cel::kObjectCostBudget;
  for (const Json& given : rules) {
    Rule rule{str(given, {"condition"}), string_list_at(given, {"celExpressions"}), str(given, {"message"}),
              str(given, {"messageExpression"})};
    const std::string type = str(given, {"type"});
    if (rule.condition.empty()) continue;
    if (type == "WellKnownConditions") {
      std::optional<Rule> known = well_known(object, rule.condition);
      if (!known) continue;
      if (!rule.message.empty()) known->message = std::move(rule.message);
      if (!rule.message_expression.empty()) known->message_expression = std::move(rule.message_expression);
      rule = std::move(*known);
    } else if (type != "CEL") {
      conditions.push_back(condition_of(rule.condition, "Unknown", kInvalid, "unrecognized condition rule type " + type));
      continue;
    }
    RuleVerdict verdict = evaluate(rule, object, budget);
    std::string message = verdict.error.empty() ? message_of(rule, object, verdict.status == "True") : std::move(verdict.error);
    conditions.push_back(condition_of(rule.condition, verdict.status, verdict.reason, std::move(message)));
  }
  return conditions;
}

}  // namespace fleetadm::work
