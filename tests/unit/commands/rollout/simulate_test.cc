// rollout simulate --scenarios: answers line by line.
#include <gtest/gtest.h>

#include "commands/rollout/rollout.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

constexpr const char* kCase =
    R"({"id":"one","now":"2026-11-20T12:00:00Z","strategy":{"type":"Progressive","progressive":{"maxConcurrency":3,"mandatoryDecisionGroups":[{"groupName":"canary"}]}},"groups":[{"name":"canary","index":0,"clusters":["c1"]},{"name":"","index":1,"clusters":["n1","n2"]}],"existing":[{"clusterName":"c1","status":"Succeeded"},{"clusterName":"n1","status":"Progressing"}]})";

class RolloutSimulate : public testing::Test {
 protected:
  RolloutSimulate() { register_rollout(registry_); }
  Result<Report> run(const std::string& input, const std::vector<std::pair<std::string, std::string>>& more = {}) {
    context_.screen.input = input;
    std::vector<std::pair<std::string, std::string>> flags{{"scenarios", "-"}};
    flags.insert(flags.end(), more.begin(), more.end());
    return testkit::run_command(registry_, "rollout simulate", context_, flags, {});
  }
  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make();
  testkit::FakeContext context_{hub_->client()};
  Registry registry_;
};

TEST_F(RolloutSimulate, AnswersInTheRecordedShapeAndInBothConducts) {
  ASSERT_TRUE(run(std::string(kCase) + "\n"));
  EXPECT_EQ(
      context_.screen.output,
      R"({"id":"one","maxFailureBreach":false,"removed":[],"timeOut":[],"toRollout":[{"clusterName":"n1","status":"Progressing"}]})"
      "\n");
  context_.screen = {};
  ASSERT_TRUE(run(std::string(kCase) + "\n", {{"conduct", "sound"}}));
  EXPECT_NE(context_.screen.output.find(R"({"clusterName":"n2","groupIndex":1,"status":"ToApply"})"), std::string::npos);
  EXPECT_EQ(hub_->calls().size(), 0U);
}

TEST_F(RolloutSimulate, ARefusedStrategyIsAnAnswer) {
  const auto report = run(R"({"id":7,"now":"2026-11-20T12:00:00Z","strategy":{"type":"Sideways"},"groups":[],"existing":[]})");
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->failures.empty());
  const auto answer = parse_json(context_.screen.output);
  ASSERT_TRUE(answer);
  EXPECT_EQ(num(*answer, {"id"}), 7);
  EXPECT_EQ(str(*answer, {"error"}), "incorrect rollout strategy type Sideways");
}

TEST_F(RolloutSimulate, ABrokenLineIsAnsweredAndTheNextOnesToo) {
  const auto report = run("{\"id\":\n" + std::string(kCase) + "\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->failures.size(), 1U);
  EXPECT_TRUE(context_.screen.output.starts_with("{\"error\":\"line 1 is not a valid case: ")) << context_.screen.output;
  EXPECT_NE(context_.screen.output.find("\"id\":\"one\""), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::commands
