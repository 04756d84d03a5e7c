// Members that the hub dials and that go away: when that is told, how long it is tried again, and by what reason at once.
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <iostream>
#include <thread>

#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

const std::string kAvailable = "ManagedClusterConditionAvailable";

class PushOutage : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(3, false));
    ASSERT_NO_FATAL_FAILURE(begin_hub());
    for (const char* name : {"c1", "c2", "c3"}) {
      const Ran joined = join(name, {"--wait=available"});
      ASSERT_EQ(joined.code, 0) << joined.both();
    }
  }
  static bool is_available(const std::string& cluster, const std::string& status, Duration within) {
    return condition_becomes(fleet()->hub(), cluster_path(cluster), kAvailable, status, within);
  }
  /// How long after `since` a cluster is told as such; recorded.
  static double told_after(const std::string& what, const std::string& cluster, Steady::time_point since,
                           const std::string& status) {
    EXPECT_TRUE(is_available(cluster, status, seconds(90))) << what;
    const double took = std::chrono::duration<double>(Steady::now() - since).count();
    RecordProperty(what, std::to_string(took));
    std::cout << what << ": " << took << " s\n";
    return took;
  }
  static void start_again(int spoke) {
    const Status back = fleet()->spoke(spoke).start_apiserver();
    ASSERT_TRUE(back) << back.error().message;
  }
  static Ran reconnect(const std::string& cluster) {
    return run({"cluster", "reconnect", cluster, "--context", "hub", "--wait=available", "--timeout=10s", "-o", "json"});
  }
};

// Side by side: the hold of each is half a minute.
TEST_F(PushOutage, A_ADeadServerAndOneThatHangsAreToldAfterTheHoldAndTheirReturnToo) {
  ASSERT_NO_FATAL_FAILURE(begin_controllers({"--probe-period=5s"}));
  for (const char* name : {"c1", "c2"}) ASSERT_TRUE(ready_becomes(name, "ClusterReady"));
  const bool can_hang = !KubeServer::on_sandbox();
  std::future<double> hangs;
  if (can_hang) {
    fleet()->spoke(2).freeze();
    hangs = std::async(std::launch::async, [since = Steady::now()] { return told_after("frozen, told", "c2", since, "False"); });
  }
  const auto killed = Steady::now();
  fleet()->spoke(1).stop_apiserver();
  const auto dead = Steady::now();
  EXPECT_GE(told_after("killed, told", "c1", killed, "False"), 29.0) << "hold of 30 s";
  EXPECT_LE(std::chrono::duration<double>(Steady::now() - dead).count(), 32.0);
  if (can_hang) {
    const double told = hangs.get();
    EXPECT_GE(told, 29.0);
    EXPECT_LE(told, 37.0) << "the period, the hold, and a second";
  }
  EXPECT_EQ(condition(fleet()->hub(), cluster_path("c3"), kAvailable), "True");

  std::future<double> answers;
  if (can_hang) {
    fleet()->spoke(2).thaw();
    answers = std::async(std::launch::async, [since = Steady::now()] { return told_after("thawed, told", "c2", since, "True"); });
  }
  ASSERT_NO_FATAL_FAILURE(start_again(1));
  EXPECT_LE(told_after("back, told", "c1", Steady::now(), "True"), 31.5);
  if (can_hang) {
    EXPECT_LE(answers.get(), 31.5);
  }
}

TEST_F(PushOutage, B_OneThatCannotBeConnectedIsGivenUpAndTriedAgainWhenAsked) {
  ASSERT_NO_FATAL_FAILURE(begin_controllers({"--give-up-after=10s"}));
  ASSERT_NO_FATAL_FAILURE(set_holds("c2", "1s", "1s"));
  fleet()->spoke(2).stop_apiserver();
  EXPECT_TRUE(ready_becomes("c2", "ClusterNotReachable"));
  EXPECT_TRUE(ready_becomes("c2", "ReconnectFailed"));
  ASSERT_NO_FATAL_FAILURE(start_again(2));
  std::this_thread::sleep_for(seconds(5));
  EXPECT_EQ(ready_reason("c2"), "ReconnectFailed") << "nobody asked for it";
  const auto asked = Steady::now();
  const Ran tried = reconnect("c2");
  ASSERT_EQ(tried.code, 0) << tried.both();
  EXPECT_EQ(name_of(tried.json()), "c2");
  EXPECT_TRUE(is_available("c2", "True", seconds(10)));
  EXPECT_LT(Steady::now() - asked, seconds(8));
  const Ran again = run({"cluster", "reconnect", "c2", "--context", "hub"});
  EXPECT_NE(again.out.find("managedcluster c2 unchanged"), std::string::npos) << again.both();
  EXPECT_TRUE(ready_becomes("c2", "ClusterReady"));
}

TEST_F(PushOutage, C_AnotherCredentialIsTriedAtOnce) {
  const std::string hub_id = uid_of(fleet()->hub().get("/api/v1/namespaces/kube-system"));
  const std::string account = "/api/v1/namespaces/fleetadm-push-" + hub_id.substr(0, 8) + "/serviceaccounts/fleetadm-push";
  ASSERT_LT(fleet()->spoke(2).request("DELETE", account).status, 300);
  EXPECT_TRUE(ready_becomes("c2", "CredentialRefused"));
  EXPECT_TRUE(ready_becomes("c2", "ReconnectFailed"));
  EXPECT_EQ(condition(fleet()->hub(), cluster_path("c2"), kAvailable), "False");
  const Ran mended = join("c2", {"--wait=available", "--timeout=20s"});
  EXPECT_EQ(mended.code, 0) << mended.both();
  EXPECT_TRUE(ready_becomes("c2", "ClusterReady"));
}

}  // namespace
}  // namespace fleetadm::testkit
