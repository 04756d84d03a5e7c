// The scenario formats as anyone outside meets them: every recorded case goes through the built binary's standard input, and what
// comes back on standard output is compared with what upstream answered.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <set>

#include "tests/cli/run_binary.h"
#include "tests/support/vectors.h"

namespace fleetadm::cli_cases {
namespace {

bool misconfigured(const Json& answer) {
  const Json& conditions = list_at(answer, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& one) {
    return str(one, {"type"}) == "PlacementMisconfigured" && str(one, {"status"}) == "True";
  });
}

// What is compared of an answer, by the rules of the recorded format.
Json compared(Json answer, bool skip_scores) {
  answer.erase("id");
  if (flag(answer, {"skipped"})) return {{"skipped", true}};
  if (flag(answer, {"failed"})) return {{"failed", true}};
  if (skip_scores) {
    for (const char* member : {"filters", "prioritizers", "scores"}) answer.erase(member);
  }
  if (!answer.contains("status") || !answer["status"].contains("conditions")) return answer;
  for (Json& condition : answer["status"]["conditions"]) {
    const std::string message = str(condition, {"message"});
    // The words of a CEL compiler are its own.
    for (const std::string_view marker : {"compilation failed", "instantiation failed"}) {
      if (const std::size_t at = message.find(marker); at != std::string::npos)
        condition["message"] = message.substr(0, at) + "CEL";
    }
  }
  return answer;
}

bool asks_cel(const Json& line) {
  for (const Json& object : list_at(line, {"objects"})) {
    if (str(object, {"kind"}) != "Placement") continue;
    for (const Json& predicate : list_at(object, {"spec", "predicates"})) {
      if (!list_at(predicate, {"requiredClusterSelector", "celSelector", "celExpressions"}).empty()) return true;
    }
  }
  return false;
}

// Whether the binary evaluates CEL selectors.
bool knows_cel() {
  const char* probe =
      R"({"now":"2026-03-01T10:00:00Z","placement":"a/p","objects":[)"
      R"({"kind":"Placement","metadata":{"name":"p","namespace":"a"},"spec":{"predicates":[{"requiredClusterSelector":{"celSelector":{"celExpressions":["true"]}}}]}},)"
      R"({"kind":"ManagedCluster","metadata":{"name":"c"}},{"kind":"ManagedClusterSetBinding","metadata":{"name":"s","namespace":"a"},"spec":{"clusterSet":"s"}},)"
      R"({"kind":"ManagedClusterSet","metadata":{"name":"s"},"spec":{"clusterSelector":{"selectorType":"LabelSelector","labelSelector":{}}}}]})";
  const BinaryOutcome outcome = run_binary({"placement", "simulate", "--scenarios", "-"}, std::string(probe) + "\n");
  return outcome.out.find(R"("selected":["c"])") != std::string::npos;
}

TEST(Scenarios, EveryRecordedPassIsAnsweredByTheBinary) {
  if (std::getenv("FLEETADM_BINARY") == nullptr) GTEST_FAIL() << "FLEETADM_BINARY must name the built fleetadm";
  const bool cel = knows_cel();
  std::vector<Json> expected;
  std::string input;
  int left_out = 0;
  const Status read = test::for_each_vector("placement.jsonl.gz", [&](const Json& line) {
    if (!cel && asks_cel(line)) {
      ++left_out;
      return;
    }
    Json given = line;
    given.erase("expect");
    input += dump_json(given) + "\n";
    expected.push_back({{"id", str(line, {"id"})}, {"expect", object_at(line, {"expect"})}});
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const BinaryOutcome outcome = run_binary({"placement", "simulate", "--scenarios", "-"}, input);
  EXPECT_EQ(outcome.exit_code, 0);
  const std::vector<Json> answers = lines_of(outcome.out);
  ASSERT_EQ(answers.size(), expected.size());
  int different = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string id = str(expected[i], {"id"});
    ASSERT_EQ(str(answers[i], {"id"}), id) << "answers are in the order of the cases";
    const Json& expect = object_at(expected[i], {"expect"});
    const bool skip_scores = misconfigured(expect);
    const Json want = compared(expect, skip_scores);
    const Json got = compared(answers[i], skip_scores);
    if (want != got && ++different <= 10) ADD_FAILURE() << id << "\nwant " << dump_json(want) << "\ngot  " << dump_json(got);
  }
  std::cout << answers.size() << " cases answered by the binary, " << different << " different, " << left_out
            << " left out (they ask CEL)\n";
  EXPECT_EQ(different, 0);
  EXPECT_GT(answers.size(), 2000U);
}

}  // namespace
}  // namespace fleetadm::cli_cases
