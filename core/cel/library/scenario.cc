#include "core/cel/library/scenario.h"

#include "core/cel/library/environments.h"

namespace fleetadm::cel {
namespace {

Json failed(std::string_view phase, std::string error) { return {{"phase", phase}, {"error", std::move(error)}}; }

}  // namespace

Result<ScenarioAnswerer> ScenarioAnswerer::make() {
  FLEETADM_TRY(Env env, condition_environment(true));
  return ScenarioAnswerer(std::move(env));
}

Result<Json> ScenarioAnswerer::answer(const Json& line) const {
  const Json* expression = find(line, {"expression"});
  if (expression == nullptr || !expression->is_string()) return fail(Category::kInvalid, "\"expression\" is no text");
  const std::string text = str(line, {"expression"});
  if (text.empty()) return Json{{"value", kEmptyText}};
  const auto program = env_.compile(text);
  if (!program) return failed("compile", program.error().render());
  static const Json kNone;
  const Json* given = find(line, {"object"});
  const Json& object = given == nullptr ? kNone : *given;
  const Outcome outcome =
      program->evaluate({{"object", Value::view(object)}, {"result", Value::boolean(true)}}, {.cost = kObjectCostBudget});
  if (!outcome.ok()) return failed("evaluate", std::string(outcome.value.text()));
  const Value value = taken_as(outcome.value);
  if (!value.is(Kind::kString)) {
    return failed("evaluate", "the value is no text but of type " + outcome.value.runtime_type().name());
  }
  return Json{{"value", value.text().empty() ? kEmptyText : value.text()}};
}

}  // namespace fleetadm::cel
