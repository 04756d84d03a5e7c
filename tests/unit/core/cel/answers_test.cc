// What upstream's engine answers to expressions of every kind, with their costs, beside what ours does (tests/data).
#include <gtest/gtest.h>

#include "tests/unit/core/cel/typed.h"

namespace fleetadm::cel::test {
namespace {

/// What came out, in the form of the file: phase or value, and the cost where it ran.
Json answer(const std::string& expression, const Json& object) {
  Json result = Json::object();
  const auto program = environment().compile(expression);
  if (!program) {
    result["phase"] = program.error().phase == CompileFailure::Phase::kPlan ? "plan" : "compile";
    return result;
  }
  const Outcome outcome = program->evaluate({{"object", Value::view(object)}});
  result["cost"] = outcome.cost;
  if (outcome.ok()) {
    result["value"] = typed(outcome.value);
  } else {
    result["phase"] = "evaluate";
  }
  return result;
}

TEST(CelAnswers, AreUpstreams) {
  Json object;
  std::size_t cases = 0;
  for (const Json& line : read_cases("cel-answers.jsonl.gz")) {
    if (const Json* given = find(line, {"object"})) {
      object = *given;
      continue;
    }
    const std::string expression = str(line, {"expr"});
    EXPECT_EQ(dump_json(answer(expression, object)), dump_json(*find(line, {"expect"}))) << expression;
    ++cases;
  }
  EXPECT_GT(cases, 500U);
}

}  // namespace
}  // namespace fleetadm::cel::test
