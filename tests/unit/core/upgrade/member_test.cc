// The work that changes an agent, and what a cluster's objects say of its upgrade.
#include "core/upgrade/member.h"

#include <gtest/gtest.h>
#include <set>

#include "core/upgrade/agent_work.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::upgrade {
namespace {

using rollout::State;

const Instant kNow = *parse_time("2026-01-01T00:10:00Z");
constexpr const char* kBefore = "2026-01-01T00:09:00Z";

Json cluster(const std::string& version, const std::string& available = "True") {
  Json status{{"conditions", Json::array({{{"type", "ManagedClusterConditionAvailable"}, {"status", available}}})},
              {"clusterClaims", Json::array()}};
  if (!version.empty()) status["clusterClaims"].push_back({{"name", "agentversion.fleetadm.io"}, {"value", version}});
  return {{"metadata", {{"name", "c1"}}}, {"status", status}};
}

Json work_of(AgentObjects objects, const std::string& image = "fleetadm:v2.0.0") {
  Json work = agent_work("c1", image, objects, kNow).value();
  work["metadata"]["generation"] = 1;
  work["metadata"]["creationTimestamp"] = kBefore;
  return work;
}

Json reported(Json work, const std::string& ready, const std::string& reason = "Ready") {
  const auto condition = [&](const char* type, const std::string& status, const std::string& why) {
    return Json{{"type", type},         {"status", status},        {"reason", why},
                {"message", "said so"}, {"observedGeneration", 1}, {"lastTransitionTime", kBefore}};
  };
  work["status"]["conditions"] =
      Json::array({condition("Applied", "True", "AppliedManifestWorkComplete"),
                   condition("Available", "True", "ResourcesAvailable"), condition("work.fleetadm.io/Ready", ready, reason)});
  return work;
}

class MemberTest : public ::testing::Test {
 protected:
  WantedAgent wanted_{"v2.0.0", workload_hash(work_of(AgentObjects::kAll)), true, true};
  Member judge(const Json& cluster, const std::optional<Json>& work, const std::optional<Instant>& finished = std::nullopt) {
    return judge_member(cluster, work, wanted_, finished, kNow);
  }
};

TEST_F(MemberTest, WithoutAWorkTheVersionTells) {
  EXPECT_EQ(judge(cluster("v1.0.0"), std::nullopt).state, State::kToApply);
  EXPECT_EQ(judge(cluster(""), std::nullopt).state, State::kToApply);
  EXPECT_EQ(judge(cluster("v2.0.0"), std::nullopt).state, State::kSucceeded);
  EXPECT_EQ(judge(cluster("v2.0.0", "Unknown"), std::nullopt).state, State::kToApply)
      << "it is not heard of: what it told is old";
  wanted_.any_image = false;
  EXPECT_EQ(judge(cluster("v2.0.0"), std::nullopt).state, State::kToApply) << "it may come from elsewhere";
  wanted_.any_image = true;
  wanted_.version.clear();
  EXPECT_EQ(judge(cluster("v2.0.0"), std::nullopt).state, State::kToApply) << "nothing tells what the image is";
}

TEST_F(MemberTest, AReadyDeploymentAndTheVersionFinishIt) {
  const Json work = reported(work_of(AgentObjects::kAll), "True");
  const Member done = judge(cluster("v2.0.0"), work);
  EXPECT_TRUE(done.finished) << done.why;
  EXPECT_EQ(done.state, State::kProgressing) << "its work has to be released first";
  EXPECT_FALSE(judge(cluster("v1.0.0"), work).finished) << "the former agent still speaks";
  EXPECT_FALSE(judge(cluster("v2.0.0", "Unknown"), work).finished);
  EXPECT_FALSE(judge(cluster("v2.0.0"), work_of(AgentObjects::kAll)).finished) << "nothing is reported";
  EXPECT_EQ(judge(cluster("v2.0.0"), std::nullopt, kNow).state, State::kSucceeded);
}

TEST_F(MemberTest, AnAgentThatCannotTellIsJudgedByItsDeployment) {
  const Json work = reported(work_of(AgentObjects::kAll), "True");
  EXPECT_FALSE(judge(cluster(""), work).finished);
  wanted_.tells = false;
  EXPECT_TRUE(judge(cluster(""), work).finished);
  EXPECT_FALSE(judge(cluster("v1.0.0"), work).finished) << "it tells, and another version";
}

TEST_F(MemberTest, WhatIsNotReadyIsWaitedFor) {
  const Member waits = judge(cluster("v1.0.0"), reported(work_of(AgentObjects::kAll), "False", "ImagePullBackOff"));
  EXPECT_FALSE(waits.finished);
  EXPECT_TRUE(waits.state == State::kProgressing || waits.state == State::kFailed);
  EXPECT_FALSE(waits.why.empty());
}

TEST_F(MemberTest, TheFormerAgentSaysWhyTheNewOneDoesNotRun) {
  const Json work = reported(work_of(AgentObjects::kAll), "False", "OldReplicasLeft");
  Json told = cluster("v1.0.0");
  told["status"]["conditions"].push_back(
      {{"type", "fleetadm.io/AgentReady"}, {"status", "False"}, {"message", "container agent of pod p: ErrImagePull"}});
  EXPECT_EQ(judge(told, work).why, "container agent of pod p: ErrImagePull");
  told["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_NE(judge(told, work).why, "container agent of pod p: ErrImagePull") << "those are old words";
}

TEST_F(MemberTest, AnotherUpgradesWorkIsReplaced) {
  EXPECT_EQ(judge(cluster("v1.0.0"), reported(work_of(AgentObjects::kAll, "fleetadm:v3.0.0"), "False")).state, State::kToApply);
  Json leaving = work_of(AgentObjects::kAll);
  leaving["metadata"]["deletionTimestamp"] = kBefore;
  EXPECT_EQ(judge(cluster("v2.0.0"), leaving).state, State::kProgressing);
}

TEST(AgentWork, CannotCreateAnAgentNorRemoveIt) {
  for (const AgentObjects objects : {AgentObjects::kImage, AgentObjects::kDeployment, AgentObjects::kAll}) {
    const Json work = agent_work("c1", "fleetadm:v2.0.0", objects, kNow).value();
    EXPECT_EQ(str(work, {"spec", "deleteOption", "propagationPolicy"}), "Orphan");
    const Json& manifests = list_at(work, {"spec", "workload", "manifests"});
    const Json& deployment = manifests.back();
    EXPECT_EQ(str(deployment, {"kind"}), "Deployment");
    EXPECT_FALSE(find(deployment, {"spec", "selector"}) != nullptr) << "the server would create one";
    const Json& container = list_at(deployment, {"spec", "template", "spec", "containers"}).front();
    EXPECT_FALSE(container.contains("args")) << "they are the cluster's own";
    EXPECT_EQ(str(container, {"image"}), "fleetadm:v2.0.0");
    EXPECT_EQ(num(deployment, {"spec", "strategy", "rollingUpdate", "maxUnavailable"}, 9), 0);
    const Json& configs = list_at(work, {"spec", "manifestConfigs"});
    ASSERT_EQ(configs.size(), manifests.size());
    for (const Json& config : configs) {
      EXPECT_TRUE(str(config, {"updateStrategy", "serverSideApply", "fieldManager"}).starts_with("work-agent"));
      EXPECT_FALSE(str(config, {"resourceIdentifier", "resource"}).empty()) << dump_json(config);
    }
  }
}

TEST(AgentWork, BringsRightsThatAreTheSameEverywhere) {
  const Json work = agent_work("c1", "fleetadm:v2.0.0", AgentObjects::kAll, kNow).value();
  std::set<std::string> kinds;
  for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
    kinds.insert(str(manifest, {"kind"}));
    if (str(manifest, {"kind"}) == "Role") {
      EXPECT_EQ(dump_json(manifest).find("secrets"), std::string::npos) << dump_json(manifest);
    }
    EXPECT_EQ(dump_json(manifest).find("unknown"), std::string::npos) << dump_json(manifest);
  }
  EXPECT_EQ(kinds,
            (std::set<std::string>{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Deployment"}))
      << "neither Secrets nor the role that names them, nor definitions or namespaces, which may be someone else's";
  const Json other = agent_work("c1", "fleetadm:v2.0.0", AgentObjects::kImage, kNow).value();
  EXPECT_EQ(list_at(other, {"spec", "workload", "manifests"}).size(), 1U);
}

}  // namespace
}  // namespace fleetadm::upgrade
