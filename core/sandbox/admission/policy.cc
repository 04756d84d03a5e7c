#include "core/sandbox/admission/policy.h"

namespace fleetadm::sandbox::admission {
namespace {

constexpr std::uint64_t kConditionBudget = cel::kObjectCostBudget / 4;
constexpr std::size_t kMaxMessageBytes = 5 * 1024;

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n\v\f\r") - begin + 1));
}

cel::Value seen(const Json& value) { return value.is_null() ? cel::Value::null() : cel::Value::view(value); }

std::vector<cel::Binding> bindings_of(const Facts& facts, bool with_namespace, bool with_authorizer) {
  std::vector<cel::Binding> out = {{"object", seen(facts.object)},
                                   {"oldObject", seen(facts.old)},
                                   {"request", seen(facts.request)},
                                   {"params", seen(facts.params)},
                                   {"namespaceObject", with_namespace ? seen(facts.name_space) : cel::Value::null()}};
  if (with_authorizer) {
    out.push_back({"authorizer", facts.authorizer});
    out.push_back({"authorizer.requestResource", facts.request_resource});
  }
  return out;
}

enum class Applies { kYes, kNo, kFailed };

/// Any condition that is false decides; otherwise failures do.
Applies applies(const CompiledPolicy& policy, const Facts& facts, std::string& failure) {
  Evaluation conditions(policy.variables, bindings_of(facts, false, true), kConditionBudget);
  std::vector<std::string> failures;
  for (const auto& condition : policy.conditions) {
    const auto outcome = conditions.evaluate(condition.expression);
    if (outcome.out_of_budget) {
      failure = outcome.error;
      return Applies::kFailed;
    }
    if (!outcome.error.empty()) {
      failures.push_back(outcome.error);
    } else if (outcome.value.is_false()) {
      return Applies::kNo;
    }
  }
  if (failures.empty()) return Applies::kYes;
  for (const auto& one : failures) failure += (failure.empty() ? "" : ", ") + one;
  if (failures.size() > 1) failure = "[" + failure + "]";
  return Applies::kFailed;
}

std::string message_of(const Validation& validation, Evaluation& messages) {
  std::string out;
  if (validation.message_expression) {
    const auto outcome = messages.evaluate(*validation.message_expression);
    if (outcome.error.empty() && outcome.value.is(cel::Kind::kString)) out = trimmed(outcome.value.text());
    if (out.size() > kMaxMessageBytes || out.find('\n') != std::string::npos) out.clear();
  }
  if (out.empty()) out = trimmed(validation.message);
  if (out.empty()) out = "failed expression: " + trimmed(validation.expression.text);
  return out;
}

void judge_annotations(const CompiledPolicy& policy, const Facts& facts, std::vector<Verdict>& out) {
  Evaluation evaluation(policy.variables, bindings_of(facts, true, true), cel::kObjectCostBudget);
  for (const auto& annotation : policy.annotations) {
    const auto outcome = evaluation.evaluate(annotation.expression);
    if (outcome.error.empty() || policy.ignores_failures) continue;  // there is no audit log to publish the value in
    out.push_back({outcome.error, "", !outcome.out_of_budget});
    if (outcome.out_of_budget) return;
  }
}

}  // namespace

CompiledPolicy CompiledPolicy::of(const std::string& name, const Json& spec) {
  CompiledPolicy out;
  out.name = name;
  out.spec = spec;
  out.ignores_failures = str(spec, {"failurePolicy"}) == "Ignore";
  out.matcher = Matcher::of(find(spec, {"matchConstraints"}));
  Compiler compiler(find(spec, {"paramKind"}) != nullptr);
  for (const Json& condition : list_at(spec, {"matchConditions"})) {
    out.conditions.push_back(
        {str(condition, {"name"}), compiler.compile(trimmed(str(condition, {"expression"})), Yields::kBool, true, false)});
  }
  for (const Json& variable : list_at(spec, {"variables"})) {
    const auto known_as = str(variable, {"name"});
    out.variables.push_back({known_as, compiler.add_variable(known_as, str(variable, {"expression"}))});
  }
  for (const Json& validation : list_at(spec, {"validations"})) {
    Validation one;
    one.expression = compiler.compile(str(validation, {"expression"}), Yields::kBool, true);
    one.message = str(validation, {"message"});
    one.reason = str(validation, {"reason"}, "Invalid");
    if (const auto text = str(validation, {"messageExpression"}); !text.empty())
      one.message_expression = compiler.compile(text, Yields::kString, false);
    out.validations.push_back(std::move(one));
  }
  for (const Json& annotation : list_at(spec, {"auditAnnotations"})) {
    out.annotations.push_back(
        {str(annotation, {"key"}), compiler.compile(trimmed(str(annotation, {"valueExpression"})), Yields::kStringOrNull, true)});
  }
  return out;
}

std::vector<Verdict> judge(const CompiledPolicy& policy, const Facts& facts) {
  const auto failed = [&](std::string message) {
    return policy.ignores_failures ? std::vector<Verdict>() : std::vector<Verdict>{{std::move(message), "", false}};
  };
  std::string failure;
  if (const auto applied = applies(policy, facts, failure); applied != Applies::kYes)
    return applied == Applies::kNo ? std::vector<Verdict>() : failed(std::move(failure));
  std::vector<Verdict> out;
  Evaluation validations(policy.variables, bindings_of(facts, true, true), cel::kObjectCostBudget);
  Evaluation messages(policy.variables, bindings_of(facts, true, false), cel::kObjectCostBudget);
  for (const auto& validation : policy.validations) {
    const auto outcome = validations.evaluate(validation.expression);
    if (outcome.out_of_budget) return failed(outcome.error);
    if (!outcome.error.empty()) {
      if (!policy.ignores_failures) out.push_back({outcome.error, "", false});
    } else if (!outcome.value.is_true()) {
      out.push_back({message_of(validation, messages), validation.reason, false});
    }
  }
  judge_annotations(policy, facts, out);
  return out;
}

}  // namespace fleetadm::sandbox::admission
