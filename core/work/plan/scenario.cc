#include "core/work/plan/scenario.h"

#include <utility>

#include "core/work/rules/condition_rules.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/feedback.h"

namespace fleetadm::work {

Result<Json> answer_scenario(const Json& line) {
  const Json* object = find(line, {"object"});
  if (object == nullptr || !object->is_object()) return fail(Category::kInvalid, "\"object\" is no object");
  const Json* rule = find(line, {"rule"});
  const Json* rules = find(line, {"rules"});
  if ((rule == nullptr) == (rules == nullptr))
    return fail(Category::kInvalid, "a case has either \"rule\" (feedback) or \"rules\" (conditions)");
  if (rules != nullptr) {
    if (!rules->is_array() && !rules->is_null()) return fail(Category::kInvalid, "\"rules\" is no list");
    return Json{{"conditions", evaluate_condition_rules(*rules, *object)}};
  }
  if (!rule->is_object()) return fail(Category::kInvalid, "\"rule\" is no object");
  FeedbackOptions options;
  options.raw_json = flag(line, {"rawJson"});
  FeedbackResult result = feedback_of_rule(*rule, *object, options);
  Json answer{{"values", std::move(result.values)}};
  if (!result.error.empty()) answer["error"] = std::move(result.error);
  return answer;
}

}  // namespace fleetadm::work
