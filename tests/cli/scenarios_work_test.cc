// Every recorded case of status feedback and of condition rules through the built binary.
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <iostream>

#include "tests/cli/run_binary.h"
#include "tests/support/vectors.h"

namespace fleetadm::cli_cases {
namespace {

struct Cases {
  std::string input;
  std::vector<Json> expected;  // {"id", "expect"}
  int left_out = 0;
};

// The lines as they were recorded: a number's form (1 or 1.0) matters here. What they expect is not read by the binary.
Status read_cases(const char* file, const std::function<bool(const Json&)>& wanted, Cases& cases) {
  return test::for_each_vector(file, [&](const Json& line, const std::string& text) {
    if (!wanted(line)) {
      ++cases.left_out;
      return;
    }
    cases.input += text + "\n";
    cases.expected.push_back({{"id", str(line, {"id"})}, {"expect", object_at(line, {"expect"})}});
  });
}

// Of a failed path only that it failed is compared, not the words.
Json feedback_compared(const Json& answer) {
  return {{"values", list_at(answer, {"values"})}, {"fails", find(answer, {"error"}) != nullptr}};
}

Json conditions_compared(const Json& answer, const Json& expect) {
  Json conditions = list_at(answer, {"conditions"});
  const Json& wanted = list_at(expect, {"conditions"});
  for (std::size_t i = 0; i < conditions.size() && i < wanted.size(); ++i) {
    const Json* message = find(wanted[i], {"message"});
    if (message == nullptr || message->is_null()) conditions[i]["message"] = nullptr;
  }
  return {{"conditions", conditions}};
}

void expect_answers(const char* file, const std::function<bool(const Json& line)>& wanted,
                    const std::function<Json(const Json& answer, const Json& expect)>& compared) {
  if (std::getenv("FLEETADM_BINARY") == nullptr) GTEST_FAIL() << "FLEETADM_BINARY must name the built fleetadm";
  Cases cases;
  const Status read = read_cases(file, wanted, cases);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const BinaryOutcome outcome = run_binary({"work", "evaluate", "--scenarios", "-"}, cases.input);
  EXPECT_EQ(outcome.exit_code, 0);
  const std::vector<Json> answers = lines_of(outcome.out);
  ASSERT_EQ(answers.size(), cases.expected.size());
  int different = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string id = str(cases.expected[i], {"id"});
    ASSERT_EQ(str(answers[i], {"id"}), id) << "answers are in the order of the cases";
    const Json& expect = object_at(cases.expected[i], {"expect"});
    const Json want = compared(expect, expect);
    const Json got = compared(answers[i], expect);
    if (want != got && ++different <= 10) ADD_FAILURE() << id << "\nwant " << dump_json(want) << "\ngot  " << dump_json(got);
  }
  std::cout << file << ": " << answers.size() << " cases answered by the binary, " << different << " different, "
            << cases.left_out << " left out\n";
  EXPECT_EQ(different, 0);
  EXPECT_GT(answers.size(), 0U);
}

bool every(const Json&) { return true; }

bool rules_ask_cel(const Json& line) {
  for (const Json& rule : list_at(line, {"rules"})) {
    if (str(rule, {"type"}) != "WellKnownConditions" || !str(rule, {"messageExpression"}).empty()) return true;
  }
  return false;
}

// Whether the binary evaluates CEL rules.
bool knows_cel_rules() {
  const char* probe = R"({"id":"p","object":{},"rules":[{"condition":"A","type":"CEL","celExpressions":["true"]}]})";
  const BinaryOutcome outcome = run_binary({"work", "evaluate", "--scenarios", "-"}, std::string(probe) + "\n");
  return outcome.out.find("ConditionRuleEvaluated") != std::string::npos;
}

TEST(WorkScenarios, EveryRecordedFeedbackIsAnsweredByTheBinary) {
  expect_answers("feedback.jsonl.gz", every, [](const Json& answer, const Json&) { return feedback_compared(answer); });
}

TEST(WorkScenarios, EveryRecordedConditionIsAnsweredByTheBinary) {
  const bool cel = knows_cel_rules();
  expect_answers(
      "condition.jsonl.gz", [&](const Json& line) { return cel || !rules_ask_cel(line); }, conditions_compared);
}

}  // namespace
}  // namespace fleetadm::cli_cases
