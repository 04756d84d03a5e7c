// The pods of an installation, as a real API server and its controllers take them. Nobody runs them: what a kubelet would say of
// them is written here.
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

const std::string kPodsOfHub = "/api/v1/namespaces/open-cluster-management-hub/pods";

class PodsOnAServer : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs() || KubeServer::on_sandbox()) return;
    ASSERT_NO_FATAL_FAILURE(begin(0, false));
  }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (KubeServer::on_sandbox()) GTEST_SKIP() << "this run has no real programs";
    ASSERT_TRUE(fleet());
  }
  static Json restricted(const char* name) {
    return {{"apiVersion", "v1"},
            {"kind", "Namespace"},
            {"metadata", {{"name", name}, {"labels", {{"pod-security.kubernetes.io/enforce", "restricted"}}}}}};
  }
  static Json pods(const std::string& app) {
    const Json list = fleet()->hub().get(kPodsOfHub + "?labelSelector=app=" + app);
    return list_at(list, {"items"});
  }
};

TEST_F(PodsOnAServer, AreTakenUnderTheRestrictedProfileAndTellWhyTheyDoNotRun) {
  KubeServer& hub = fleet()->hub();
  ASSERT_EQ(hub.create("/api/v1/namespaces", restricted("open-cluster-management-hub")).status, 201);
  const std::vector<std::string> init{"init",
                                      "--context",
                                      "hub",
                                      "--gateway",
                                      "--replicas",
                                      "2",
                                      "--wait",
                                      "--timeout",
                                      "6s",
                                      "--tolerate",
                                      "infra:NoSchedule",
                                      "--network-policy",
                                      "--node-selector",
                                      "role=infra",
                                      "--gateway-replicas",
                                      "2"};
  const Ran first = run(init);
  EXPECT_NE(first.code, 0);
  ASSERT_TRUE(eventually([] { return pods("fleetadm-hub").size() == 2 && pods("fleetadm-gateway").size() == 2; }))
      << first.both() << dump_json_pretty(hub.get("/apis/apps/v1/namespaces/open-cluster-management-hub/deployments"));
  for (const Json& pod : pods("fleetadm-hub")) EXPECT_EQ(str(pod, {"spec", "nodeSelector", "role"}), "infra");
  const Json budgets = hub.get("/apis/policy/v1/namespaces/open-cluster-management-hub/poddisruptionbudgets");
  EXPECT_EQ(list_at(budgets, {"items"}).size(), 2U);

  const Json waiting{{"reason", "ImagePullBackOff"}, {"message", "Back-off pulling image"}};
  const Json status{{"phase", "Pending"},
                    {"containerStatuses", Json::array({{{"name", "hub"},
                                                        {"image", "x"},
                                                        {"imageID", ""},
                                                        {"ready", false},
                                                        {"restartCount", 0},
                                                        {"state", {{"waiting", waiting}}}}})}};
  for (const Json& pod : pods("fleetadm-hub")) {
    const auto answer = hub.request("PATCH", kPodsOfHub + "/" + name_of(pod) + "/status", dump_json({{"status", status}}),
                                    "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  const Ran second = run(init);
  EXPECT_EQ(second.code, 6) << second.both();
  const std::string words = "ImagePullBackOff: Back-off pulling image";
  EXPECT_NE(second.err.find("warning: container hub of pod open-cluster-management-hub/fleetadm-hub-"), std::string::npos)
      << second.both();
  EXPECT_NE(second.err.find("did not become available within 6s: container hub of pod"), std::string::npos) << second.both();
  EXPECT_NE(second.err.find(words), std::string::npos) << second.both();
  const Ran doctor = run({"doctor", "--context", "hub"});
  EXPECT_NE(doctor.out.find(words), std::string::npos) << doctor.both();
}

TEST_F(PodsOnAServer, ThatAreRefusedAreToldOfToo) {
  KubeServer& hub = fleet()->hub();
  const Json range{{"apiVersion", "v1"},
                   {"kind", "LimitRange"},
                   {"metadata", {{"name", "small"}}},
                   {"spec", {{"limits", Json::array({{{"type", "Container"}, {"max", {{"memory", "64Mi"}}}}})}}}};
  const KubeServer::Answer made = hub.create("/api/v1/namespaces/open-cluster-management-hub/limitranges", range);
  ASSERT_EQ(made.status, 201) << made.body;
  const Ran ran = run({"init", "--context", "hub", "--wait", "--timeout", "8s", "--priority-class", "system-cluster-critical"});
  EXPECT_EQ(ran.code, 6) << ran.both();
  EXPECT_NE(ran.err.find("Deployment open-cluster-management-hub/fleetadm-hub: FailedCreate"), std::string::npos) << ran.both();
  EXPECT_NE(ran.err.find("maximum memory usage per Container is 64Mi"), std::string::npos) << ran.both();
}

}  // namespace
}  // namespace fleetadm::testkit
