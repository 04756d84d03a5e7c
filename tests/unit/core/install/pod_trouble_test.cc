// What keeps pods from running, from what the scheduler, the kubelet and admission say of them.
#include "core/install/pod_trouble.h"

#include <gtest/gtest.h>

#include "core/install/wait_deployment.h"
#include "tests/support/fake_api.h"

namespace fleetadm::install {
namespace {

const std::string kHubDeployment = "fleetadm-hub";

Json deployment(const Json& conditions = Json::array(), int available = 0) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", kHubDeployment}, {"namespace", "ns"}, {"generation", 1}}},
          {"spec", {{"replicas", 1}, {"selector", {{"matchLabels", {{"app", kHubDeployment}}}}}}},
          {"status",
           {{"observedGeneration", 1}, {"updatedReplicas", 1}, {"availableReplicas", available}, {"conditions", conditions}}}};
}

Json pod(const std::string& name, Json status) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"namespace", "ns"}, {"labels", {{"app", kHubDeployment}}}}},
          {"spec", Json::object()},
          {"status", std::move(status)}};
}

Json container(Json state, Json last = Json::object(), bool ready = false) {
  return {{"phase", "Running"},
          {"containerStatuses",
           Json::array({{{"name", "hub"}, {"ready", ready}, {"state", std::move(state)}, {"lastState", std::move(last)}}})}};
}

Json waiting(const char* reason, const char* message = "") { return {{"waiting", {{"reason", reason}, {"message", message}}}}; }
Json terminated(const char* reason, int code, const char* message = "") {
  return {{"terminated", {{"reason", reason}, {"exitCode", code}, {"message", message}}}};
}

std::string told(const Json& one) {
  const auto troubles = pod_troubles(deployment(), {{"items", Json::array({pod("p", one)})}});
  EXPECT_LE(troubles.size(), 1U);
  return troubles.empty() ? "" : troubles.front().text();
}

TEST(PodTroubles, APodThatStartsIsNoTrouble) {
  EXPECT_EQ(told(container(waiting("ContainerCreating"))), "");
  EXPECT_EQ(told(container(waiting("PodInitializing"))), "");
  EXPECT_EQ(told(container({{"running", Json::object()}})), "");
  EXPECT_EQ(told(container({{"running", Json::object()}}, terminated("OOMKilled", 137), true)), "");
  EXPECT_EQ(told({{"phase", "Pending"}}), "");
}

TEST(PodTroubles, TheKubeletsReasonAndWordsAreTold) {
  EXPECT_EQ(told(container(waiting("ImagePullBackOff", "Back-off pulling image \"x:1\""))),
            "container hub of pod ns/p: ImagePullBackOff: Back-off pulling image \"x:1\"");
  EXPECT_EQ(told(container(waiting("ErrImageNeverPull"))), "container hub of pod ns/p: ErrImageNeverPull");
}

TEST(PodTroubles, AProgramThatEndsSaysItselfWhy) {
  EXPECT_EQ(told(container(waiting("CrashLoopBackOff", "back-off 10s"), terminated("Error", 2, "line one\nno such flag\n"))),
            "container hub of pod ns/p: CrashLoopBackOff, Error (exit code 2): no such flag");
  EXPECT_EQ(told(container(waiting("CrashLoopBackOff", "back-off 10s"), terminated("OOMKilled", 137))),
            "container hub of pod ns/p: CrashLoopBackOff, OOMKilled: back-off 10s");
  EXPECT_EQ(told(container(terminated("Error", 1, "bye"))), "container hub of pod ns/p: Error (exit code 1): bye");
  EXPECT_EQ(told(container({{"running", Json::object()}}, terminated("OOMKilled", 137))), "container hub of pod ns/p: OOMKilled");
}

TEST(PodTroubles, ThePodItselfMayHaveNoNodeOrBeEvicted) {
  const Json unschedulable{{"type", "PodScheduled"},
                           {"status", "False"},
                           {"reason", "Unschedulable"},
                           {"message", "0/3 nodes are available: 3 Insufficient cpu."}};
  EXPECT_EQ(told({{"phase", "Pending"}, {"conditions", Json::array({unschedulable})}}),
            "pod ns/p: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_EQ(told({{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "The node was low on resource: memory."}}),
            "pod ns/p: Evicted: The node was low on resource: memory.");
}

TEST(PodTroubles, PodsThatAdmissionRefusesAreToldByTheDeployment) {
  const Json failure{{"type", "ReplicaFailure"},
                     {"status", "True"},
                     {"reason", "FailedCreate"},
                     {"message", "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\""}};
  const auto troubles = pod_troubles(deployment(Json::array({failure})), {{"items", Json::array()}});
  ASSERT_EQ(troubles.size(), 1U);
  EXPECT_EQ(troubles[0].text(),
            "Deployment ns/fleetadm-hub: FailedCreate: pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"");
}

TEST(PodTroubles, OnePodStandsForItsLikes) {
  const Json status = container(waiting("ImagePullBackOff", "a"));
  const Json other = container(waiting("ImagePullBackOff", "b"));
  Json gone = pod("r", container(waiting("ErrImagePull")));
  gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  const auto troubles = pod_troubles(deployment(), {{"items", Json::array({pod("p", status), pod("q", other), gone})}});
  ASSERT_EQ(troubles.size(), 1U);
  EXPECT_EQ(troubles[0].where, "container hub of pod ns/p");
}

TEST(WaitDeployment, SaysAtOnceWhatKeepsThePodsAndGoesOn) {
  const auto api = testkit::FakeApi::make();
  api->put(kube::resources::deployments(), deployment());
  api->put(kube::resources::pods(), pod("p", container(waiting("ErrImagePull", "not found"))));
  std::vector<std::string> troubles;
  const auto heal = [&](const PodTrouble& one) {
    troubles.push_back(one.text());
    api->put(kube::resources::deployments(), deployment(Json::array(), 1));
  };
  const Status waited = wait_deployment(api->client(), "ns", kHubDeployment, std::chrono::seconds(30), {}, heal);
  EXPECT_TRUE(waited) << waited.error().message;
  EXPECT_EQ(troubles, std::vector<std::string>{"container hub of pod ns/p: ErrImagePull: not found"});
}

TEST(WaitDeployment, TheFormerPodsDoNotCount) {
  const auto api = testkit::FakeApi::make();
  Json upgraded = deployment(Json::array(), 1);
  upgraded["status"]["replicas"] = 2;
  api->put(kube::resources::deployments(), upgraded);
  const auto wait = [&](Duration timeout) { return wait_deployment(api->client(), "ns", kHubDeployment, timeout, {}); };
  EXPECT_FALSE(wait(std::chrono::milliseconds(200)));
  upgraded["status"]["replicas"] = 1;
  api->put(kube::resources::deployments(), upgraded);
  EXPECT_TRUE(wait(std::chrono::seconds(10)));
}

TEST(WaitDeployment, EndsWithTheReason) {
  const auto api = testkit::FakeApi::make();
  api->put(kube::resources::deployments(), deployment());
  api->put(kube::resources::pods(), pod("p", container(waiting("InvalidImageName"))));
  const Status waited = wait_deployment(api->client(), "ns", kHubDeployment, std::chrono::milliseconds(300), {});
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().category, Category::kTimeout);
  EXPECT_NE(waited.error().message.find("container hub of pod ns/p: InvalidImageName"), std::string::npos)
      << waited.error().message;
  EXPECT_EQ(wait_deployment(api->client(), "ns", "none", std::chrono::seconds(5), {}).error().category, Category::kNotFound);
}

}  // namespace
}  // namespace fleetadm::install
