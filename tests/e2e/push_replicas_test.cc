// Several replicas of a hub share its push members: one that comes takes some, one that dies hands all over within seconds.
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

constexpr int kShared = 4;

class PushReplicas : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(kShared, false));
    const Ran init = run({"init", "--push", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ASSERT_NO_FATAL_FAILURE(start_replica("a"));
    for (int i = 1; i <= kShared; ++i) {
      const Ran joined = join("c" + std::to_string(i), {"--wait=available"});
      ASSERT_EQ(joined.code, 0) << joined.both();
    }
  }
  static void TearDownTestSuite() {
    replicas().clear();
    PushFleet::TearDownTestSuite();
  }
  static std::map<std::string, sandbox::Child>& replicas() {
    static std::map<std::string, sandbox::Child> running;
    return running;
  }
  static std::string log_of(const std::string& name) { return (fleet()->folder().path() / ("hub-" + name + ".log")).string(); }
  /// With the rights that init gives them.
  static void start_replica(const std::string& name) {
    const KubeServer::Answer token =
        fleet()->hub().request("POST", "/api/v1/namespaces/open-cluster-management-hub/serviceaccounts/fleetadm-hub/token",
                               R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    ASSERT_EQ(token.status, 201) << token.body;
    const std::string kubeconfig = fleet()->folder().write(
        "hub-" + name + ".kubeconfig", fleet()->hub().kubeconfig_with_token(str(token.json(), {"status", "token"})));
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = {"hub", "run", "--kubeconfig", kubeconfig, "--leader-elect=true", "--push"};
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = log_of(name);
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    replicas().emplace(name, std::move(*child));
  }
  /// Whether each member has a work done.
  static bool all_work(const std::string& name, Duration within) {
    for (int i = 1; i <= kShared; ++i) work("c" + std::to_string(i), name);
    return eventually(
        [&] {
          for (int i = 1; i <= kShared; ++i) {
            if (fleet()->spoke(i).get("/api/v1/namespaces/default/configmaps/" + name).is_null()) return false;
          }
          return true;
        },
        within);
  }
  static std::vector<std::string> transitions() {
    std::vector<std::string> times;
    for (int i = 1; i <= kShared; ++i) {
      for (const Json& one : list_at(fleet()->hub().get(cluster_path("c" + std::to_string(i))), {"status", "conditions"})) {
        const std::string type = str(one, {"type"});
        if (type == "ManagedClusterConditionAvailable" || type == "Ready") times.push_back(str(one, {"lastTransitionTime"}));
      }
    }
    return times;
  }
  static std::size_t leases() {
    return list_at(fleet()->hub().get("/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/"
                                      "leases?labelSelector=fleetadm.io%2Fpush-replica"),
                   {"items"})
        .size();
  }
  static bool says(const std::string& name, const std::string& what, Duration within) {
    return eventually([&] { return read_file(log_of(name)).find(what) != std::string::npos; }, within);
  }
};

TEST_F(PushReplicas, A_OneThatComesTakesSome) {
  const auto before = transitions();
  ASSERT_NO_FATAL_FAILURE(start_replica("b"));
  EXPECT_TRUE(says("a", "2 replicas of the hub share", seconds(20))) << read_file(log_of("a"));
  EXPECT_TRUE(says("b", "2 replicas of the hub share", seconds(20))) << read_file(log_of("b"));
  EXPECT_EQ(leases(), 2U);
  EXPECT_TRUE(all_work("shared", seconds(20)));
  EXPECT_EQ(transitions(), before) << "nothing is told of a member that changes hands";
}

TEST_F(PushReplicas, B_OneThatDiesIsFollowedWithinSecondsAndLeavesNoTrace) {
  const auto before = transitions();
  replicas().at("a").signal(SIGKILL);  // the leader
  const auto died = Steady::now();
  EXPECT_TRUE(all_work("after-death", seconds(25)));
  EXPECT_LT(Steady::now() - died, seconds(20)) << "lease of 12 s";
  EXPECT_EQ(transitions(), before);
  replicas().erase("a");
}

TEST_F(PushReplicas, C_OneThatStopsHandsOverAtOnce) {
  const auto before = transitions();
  ASSERT_NO_FATAL_FAILURE(start_replica("c"));
  ASSERT_TRUE(says("c", "2 replicas of the hub share", seconds(40))) << read_file(log_of("c"));
  replicas().at("b").stop(seconds(10));
  const auto stopped = Steady::now();
  replicas().erase("b");
  EXPECT_TRUE(all_work("after-stop", seconds(15)));
  EXPECT_LT(Steady::now() - stopped, seconds(6));
  EXPECT_EQ(transitions(), before);
}

TEST_F(PushReplicas, D_LeasesOfTheDeadAreWaitedForAndNoLonger) {
  replicas().clear();
  ASSERT_NO_FATAL_FAILURE(start_replica("d"));
  EXPECT_TRUE(all_work("after-all", seconds(40)));
}

}  // namespace
}  // namespace fleetadm::testkit
