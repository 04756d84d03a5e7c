// The life of a cluster after its join, held against what upstream's programs wrote on the hub for the same steps (recorded):
// never more writes in a step, fewer than half in all of them, and none that is refused.
#include <gtest/gtest.h>
#include <iostream>

#include "kubeclient/base/joined.h"
#include "tests/e2e/recording.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kLifeCluster = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";

class LifeTrace : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    const Ran init = run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    const Ran joined = run(join_args(init.json()));
    ASSERT_EQ(joined.code, 0) << joined.both();
    settle({&fleet()->hub()});
  }
  static void patch(const std::string& body) {
    const auto done = fleet()->hub().request("PATCH", std::string(kLifeCluster), body, "application/merge-patch+json");
    ASSERT_LT(done.status, 300) << done.body;
  }
  static std::string condition(std::string_view type) {
    for (const Json& one : list_at(fleet()->hub().get(std::string(kLifeCluster)), {"status", "conditions"})) {
      if (str(one, {"type"}) == type) return str(one, {"status"});
    }
    return {};
  }
  static void becomes(std::string_view type, const std::string& status) {
    EXPECT_TRUE(eventually([&] { return condition(type) == status; }, std::chrono::minutes(1))) << type << " is not " << status;
  }
  /// What `work` led to, beside what the same step of the recording did.
  template <class Work>
  void step(const std::string& name, const Work& work) {
    const auto from = fleet()->hub().audit_position();
    ASSERT_NO_FATAL_FAILURE(work());
    settle({&fleet()->hub()});
    const auto ours = written_by_programs(fleet()->hub(), from);
    const auto theirs = recorded("life-traces.jsonl.gz", "hub", {name});
    std::cout << name << ": " << ours.size() << " writes of ours, " << theirs.size() << " recorded\n";
    EXPECT_FALSE(theirs.empty());
    EXPECT_LE(ours.size(), theirs.size()) << name << ":\n" << joined(ours, "\n");
    EXPECT_TRUE(refused_of(ours).empty()) << name << ":\n" << joined(ours, "\n");
    ours_ += ours.size();
    theirs_ += theirs.size();
  }

  std::size_t ours_ = 0;
  std::size_t theirs_ = 0;
};

TEST_F(LifeTrace, FewerThanHalfOfUpstreamsWritesAndNoneRefused) {
  const std::string available = "ManagedClusterConditionAvailable";
  step("accept", [&] {
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  });
  ASSERT_NO_FATAL_FAILURE(patch(R"({"spec":{"leaseDurationSeconds":1}})"));
  settle({&fleet()->hub()});
  step("lease-expires", [&] {
    fleet()->kill_node(1);
    becomes(available, "Unknown");
  });
  step("agent-returns", [&] {
    ASSERT_TRUE(fleet()->start_node(1));
    becomes(available, "True");
  });
  step("deny", [&] {
    ASSERT_NO_FATAL_FAILURE(patch(R"({"spec":{"hubAcceptsClient":false}})"));
    becomes("HubAcceptedManagedCluster", "False");
  });
  step("accept-again", [&] {
    becomes(available, "Unknown");  // its lease is no more renewed: recorded with this step
    settle({&fleet()->hub()});
    ASSERT_NO_FATAL_FAILURE(patch(R"({"spec":{"hubAcceptsClient":true}})"));
    becomes("HubAcceptedManagedCluster", "True");
    becomes(available, "True");
  });
  step("cluster-delete", [&] {
    ASSERT_LT(fleet()->hub().request("DELETE", std::string(kLifeCluster)).status, 300);
    EXPECT_TRUE(eventually([] { return fleet()->hub().get(std::string(kLifeCluster)).is_null(); }, std::chrono::minutes(1)));
  });
  std::cout << "in all " << ours_ << " writes of ours, " << theirs_ << " recorded\n";
  RecordProperty("writes", std::to_string(ours_) + " of ours, " + std::to_string(theirs_) + " recorded");
  EXPECT_LT(2 * ours_, theirs_);
}

}  // namespace
}  // namespace fleetadm::testkit
