// A cluster whose API server is gone leaves its fleet on the hub alone; what stayed is removed when it is back.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kNotice = "/api/v1/namespaces/default/configmaps/notice";

class DeadCluster : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    before() = inventory(fleet()->spoke(1));
    const Ran init = run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    const Ran join = run(join_args(init.json()));
    ASSERT_EQ(join.code, 0) << join.both();
    const Ran accept = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accept.code, 0) << accept.both();
    const std::string file = fleet()->folder().write(
        "notice.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notice, namespace: default}\ndata: {a: b}\n");
    const Ran work = run({"work", "create", "notice", "-f", file, "--clusters", "c1", "--wait=applied", "--context", "hub"});
    ASSERT_EQ(work.code, 0) << work.both();
  }
  static std::set<std::string>& before() {
    static std::set<std::string> names;
    return names;
  }
  static Ran unjoin(std::vector<std::string> more) {
    std::vector<std::string> args{"unjoin", "--context", "c1", "--allow-removals", "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
};

TEST_F(DeadCluster, A_ThePlanNamesTheAgentAsWhatIsWaitedFor) {
  const Ran plan = unjoin({"--hub-context", "hub", "--plan"});
  ASSERT_EQ(plan.code, 0) << plan.both();
  const Json blockers = list_at(plan.json(), {"blockers"});
  ASSERT_EQ(blockers.size(), 2U) << plan.both();
  EXPECT_EQ(str(blockers[0], {"name"}), "notice");
  EXPECT_EQ(str(blockers[0], {"waitsFor"}), "the agent of c1");
  EXPECT_EQ(str(blockers[1], {"waitsFor"}), "the hub controllers");
}

TEST_F(DeadCluster, B_IsLeftOnTheHubAloneWithForce) {
  fleet()->kill_node(1);
  fleet()->spoke(1).stop_apiserver();
  const Ran waits =
      run({"unjoin", "--hub-only", "--context", "hub", "--cluster-name", "c1", "--allow-removals", "--timeout", "5s"});
  EXPECT_EQ(waits.code, 6) << waits.both();
  EXPECT_NE(waits.err.find("ManifestWork c1/notice waits for the agent of c1"), std::string::npos) << waits.both();
  const Ran refused = unjoin({"--hub-context", "hub", "--cluster-name", "c1", "--request-timeout", "3s"});
  EXPECT_NE(refused.code, 0) << refused.both();
  const Ran forced = unjoin({"--hub-context", "hub", "--cluster-name", "c1", "--request-timeout", "3s", "--force"});
  ASSERT_EQ(forced.code, 0) << forced.both();
  EXPECT_EQ(string_list_at(forced.json(), {"left", "works"}), std::vector<std::string>{"notice"}) << forced.both();
  EXPECT_TRUE(fleet()->hub().get(std::string(kManagedClusters) + "/c1").is_null());
  EXPECT_TRUE(fleet()->hub().get("/api/v1/namespaces/c1").is_null());
}

TEST_F(DeadCluster, C_WhatStayedIsRemovedWhenItIsBack) {
  const Status back = fleet()->spoke(1).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_TRUE(fleet()->start_node(1));
  EXPECT_FALSE(fleet()->spoke(1).get(kNotice).is_null()) << "it was left behind";
  const Ran ran = unjoin({"--force"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_TRUE(eventually([] { return fleet()->spoke(1).get(kNotice).is_null(); }));
  EXPECT_TRUE(eventually([] {
    const auto now = inventory(fleet()->spoke(1));
    return std::includes(before().begin(), before().end(), now.begin(), now.end());
  }));
}

}  // namespace
}  // namespace fleetadm::testkit
