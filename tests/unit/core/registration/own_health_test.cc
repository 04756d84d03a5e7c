// What an agent tells its hub of its own pods.
#include "core/registration/agent/own_health.h"

#include <gtest/gtest.h>

#include "core/api/agent_health.h"

namespace fleetadm::registration::agent {
namespace {

const Instant kMoment = parse_time("2026-11-21T18:00:00Z").value();

Json deployment(int updated, int ready, int all) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", "fleetadm-agent"}, {"namespace", "ns"}, {"generation", 2}}},
          {"spec", {{"replicas", 1}}},
          {"status",
           {{"observedGeneration", 2},
            {"replicas", all},
            {"updatedReplicas", updated},
            {"readyReplicas", ready},
            {"availableReplicas", ready}}}};
}

Json pods(Json container) {
  container["name"] = "agent";
  return {{"items", Json::array({{{"metadata", {{"name", "p"}, {"namespace", "ns"}}},
                                  {"status", {{"phase", "Running"}, {"containerStatuses", Json::array({container})}}}}})}};
}

TEST(OwnHealth, IsTheDeploymentsWithThePodsOwnWords) {
  const OwnHealth well = judge_own_health(deployment(1, 1, 1), pods({{"ready", true}}));
  EXPECT_TRUE(well.ready);
  EXPECT_EQ(well.words, "1 of 1 replica ready");
  const OwnHealth ill = judge_own_health(
      deployment(1, 1, 2), pods({{"state", {{"waiting", {{"reason", "ErrImagePull"}, {"message", "not found"}}}}}}));
  EXPECT_FALSE(ill.ready) << "the former agent speaks for the new one";
  EXPECT_EQ(ill.reason, "ErrImagePull");
  EXPECT_NE(ill.words.find("container agent of pod ns/p: ErrImagePull: not found"), std::string::npos) << ill.words;
}

TEST(OwnHealth, TellsWhyAReadyAgentWasRestarted) {
  const OwnHealth again = judge_own_health(deployment(1, 1, 1),
                                           pods({{"ready", true},
                                                 {"restartCount", 2},
                                                 {"state", {{"running", Json::object()}}},
                                                 {"lastState", {{"terminated", {{"reason", "OOMKilled"}, {"exitCode", 137}}}}}}));
  EXPECT_TRUE(again.ready);
  EXPECT_EQ(again.words, "1 of 1 replica ready; container agent of pod ns/p restarted 2 times, at last OOMKilled");
}

TEST(OwnHealth, AReasonIsOneThatAConditionMayHave) {
  const OwnHealth crashed =
      judge_own_health(deployment(1, 0, 1), pods({{"state", {{"waiting", {{"reason", "CrashLoopBackOff"}}}}},
                                                  {"lastState", {{"terminated", {{"reason", "Error"}, {"exitCode", 3}}}}}}));
  EXPECT_EQ(crashed.reason, "CrashLoopBackOff");
  EXPECT_NE(crashed.words.find("exit code 3"), std::string::npos) << crashed.words;
}

Json cluster(Json conditions) { return {{"status", {{"conditions", std::move(conditions)}}}}; }

TEST(AgentHealth, IsReadFromTheCondition) {
  EXPECT_EQ(api::agent_health(cluster(Json::array())).text(), "");
  Json conditions = Json::array({{{"type", "ManagedClusterConditionAvailable"}, {"status", "True"}}});
  write_own_health(judge_own_health(deployment(1, 1, 1), Json::object()), kMoment, conditions);
  EXPECT_EQ(api::agent_health(cluster(conditions)).text(), "ready: 1 of 1 replica ready");
  conditions[0]["status"] = "Unknown";
  EXPECT_EQ(api::agent_health(cluster(conditions)).text(), "silent, at last ready: 1 of 1 replica ready");
  write_own_health(OwnHealth{}, kMoment, conditions);
  EXPECT_EQ(conditions.size(), 1U) << "an agent that runs elsewhere tells nothing";
}

}  // namespace
}  // namespace fleetadm::registration::agent
