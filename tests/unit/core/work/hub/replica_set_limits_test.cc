// The controller's gradual rollouts on an API server in memory, with agents that answer at once: killed after every write it ends
// as an undisturbed run does, and at each write of a work the limits hold.
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <thread>

#include "core/api/kinds.h"
#include "core/work/hub/replica_set.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_revisions.h"
#include "core/work/rules/replica_set_rules.h"
#include "core/work/rules/replica_set_status.h"
#include "tests/support/killable.h"
#include "tests/support/replica_sets.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::eventually;
using testing::parsed;
using NameSet = std::set<std::string>;

Json template_of(const std::string& value) {
  return parsed(R"({"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
    "data": {"v": ")" +
                value + R"("}}]}})");
}

class RolloutController : public ::testing::Test {
 protected:
  /// A fresh hub: a canary group with c1, and n1…n4.
  void reset(const std::string& strategy) {
    controller_.stop();
    hub_ = testkit::FakeApi::make();
    broken_.clear();
    silent_.clear();
    most_ = failed_most_ = 0;
    hub_->on_request([this](const testkit::ApiCall& call) { return watch_limits(call); });
    testkit::put_decided(*hub_, "apps", "p", {{"canary", {"c1"}}, {"", {"n1", "n2", "n3", "n4"}}});
    Json set{{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
             {"kind", "ManifestWorkReplicaSet"},
             {"metadata", {{"name", "rs"}, {"namespace", "apps"}}}};
    set["spec"] = {{"placementRefs", Json::array({{{"name", "p"}, {"rolloutStrategy", parsed(strategy)}}})},
                   {"manifestWorkTemplate", template_of("1")}};
    hub_->put(api::manifest_work_replica_sets(), set);
  }
  /// At every write of a work: how many others are under way, and how many have failed.
  std::optional<kube::Response> watch_limits(const testkit::ApiCall& call) {
    if (call.plural != "manifestworks" || !call.is_write() || !call.subresource.empty()) return std::nullopt;
    const bool begins = call.verb == "create" || find(call.body, {"spec"}) != nullptr;
    if (!begins) return std::nullopt;
    int under_way = 1;
    int failed = 0;
    for (const Json& work : hub_->all(api::manifest_works())) {
      if (namespace_of(work) == call.ns) continue;
      const Json* applied = condition_in(list_at(work, {"status", "conditions"}), kConditionApplied);
      const bool seen = applied != nullptr && num(*applied, {"observedGeneration"}) == num(work, {"metadata", "generation"});
      if (!seen) ++under_way;
      if (seen && str(*applied, {"status"}) == "False") ++failed;
    }
    const std::lock_guard lock(mutex_);
    most_ = std::max(most_, under_way + failed);
    failed_most_ = std::max(failed_most_, failed);
    return std::nullopt;
  }

  void start(int die_after = -1) {
    controller_.start(
        [this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
          add_replica_set_controller(manager, hub_->client(gate));
        },
        die_after);
  }
  /// Agents: every work that is not reported on is applied, or fails where its cluster is broken.
  void agents() {
    testkit::report_as_agents(*hub_, [this](const std::string& cluster) -> std::optional<std::string> {
      if (silent_.contains(cluster)) return std::nullopt;
      return broken_.contains(cluster) ? "False" : "True";
    });
  }
  bool until(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(10)) {
    return eventually(
        [&] {
          agents();
          return done();
        },
        timeout);
  }
  Json set() const { return hub_->get(api::manifest_work_replica_sets(), "apps", "rs").value_or(Json()); }
  std::string rollout() const {
    const Json object = set();
    const Json* found = condition_in(list_at(object, {"status", "conditions"}), kRolloutCondition);
    return found == nullptr ? "" : str(*found, {"reason"});
  }
  /// Clusters whose work has this value.
  NameSet with(const std::string& value) const {
    NameSet names;
    for (const Json& work : hub_->all(api::manifest_works())) {
      if (str(list_at(work, {"spec", "workload", "manifests"})[0], {"data", "v"}) == value) names.insert(namespace_of(work));
    }
    return names;
  }
  void change(const std::string& value) {
    const Json body{{"spec", {{"manifestWorkTemplate", template_of(value)}}}};
    ASSERT_TRUE(hub_->client().patch(api::manifest_work_replica_sets(), "apps", "rs", kube::PatchType::kMerge, body));
  }
  void annotate(std::string_view key, const Json& value) {
    const Json body{{"metadata", {{"annotations", {{std::string(key), value}}}}}};
    ASSERT_TRUE(hub_->client().patch(api::manifest_work_replica_sets(), "apps", "rs", kube::PatchType::kMerge, body));
  }
  std::vector<Revision> history() const { return revisions_of(set(), hub_->all(controller_revisions())); }
  bool complete(const std::string& value) {
    return until(
        [&] { return rollout() == "Complete" && with(value).size() == 5 && !history().empty() && history().back().over(); });
  }

  std::shared_ptr<testkit::FakeApi> hub_;
  NameSet broken_;
  NameSet silent_;
  std::mutex mutex_;
  int most_ = 0;
  int failed_most_ = 0;
  testkit::Killable controller_;  // last: it ends before what it uses
};

constexpr const char* kCanaryThenTwo =
    R"({"type": "Progressive", "progressive": {"maxConcurrency": 2, "mandatoryDecisionGroups": [{"groupName": "canary"}]}})";
const NameSet kAll{"c1", "n1", "n2", "n3", "n4"};

TEST_F(RolloutController, CanaryThenTheRestAndASecondRevision) {
  reset(kCanaryThenTwo);
  start();
  ASSERT_TRUE(complete("1")) << dump_json(set());
  change("2");
  ASSERT_TRUE(complete("2")) << dump_json(set());
  EXPECT_LE(most_, 2);
  const auto revisions = history();
  ASSERT_EQ(revisions.size(), 2U);
  EXPECT_EQ(revisions[0].outcome, kOutcomeComplete);
  EXPECT_EQ(revisions[1].members.at("p"), kAll);
}

TEST_F(RolloutController, AnAbandonedRevisionIsSupersededWhereverTheHubDied) {
  for (int writes = 0; writes < 4; ++writes) {
    reset(kCanaryThenTwo);
    start();
    ASSERT_TRUE(complete("1")) << dump_json(set());
    broken_ = {"n1"};
    change("2");
    ASSERT_TRUE(until([&] { return rollout() == "Failed"; })) << dump_json(set());
    controller_.stop();
    broken_.clear();
    change("3");
    start(writes);
    until([&] { return controller_.writes() >= writes; });
    start();
    ASSERT_TRUE(complete("3")) << dump_json(set());
    const auto revisions = history();
    ASSERT_EQ(revisions.size(), 3U);
    EXPECT_EQ(revisions[1].outcome, kOutcomeSuperseded) << "killed after " << writes << " writes";
    EXPECT_EQ(revisions[2].outcome, kOutcomeComplete);
  }
}

TEST_F(RolloutController, KilledAfterEveryWriteTheLimitsHoldAndTheEndIsTheSame) {
  int k = 0;
  for (bool more = true; more; ++k) {
    ASSERT_LT(k, 60);
    reset(kCanaryThenTwo);
    start();
    ASSERT_TRUE(complete("1"));
    controller_.stop();
    change("2");
    start(k);
    until([&] {
      return controller_.writes() >= k || (rollout() == "Complete" && with("2").size() == 5 && history().back().over());
    });
    more = controller_.writes() >= k;  // it was killed, or was about to end
    controller_.stop();
    start();
    ASSERT_TRUE(complete("2")) << "killed after write " << k << ": " << dump_json(set());
    EXPECT_LE(most_, 2) << "killed after write " << k;
    EXPECT_EQ(history().size(), 2U) << "killed after write " << k;
    EXPECT_EQ(hub_->all(api::manifest_works()).size(), 5U);
  }
  EXPECT_GT(k, 7);
}

TEST_F(RolloutController, AFailingClusterStopsItAndUndoingEndsIt) {
  reset(kCanaryThenTwo);
  start();
  ASSERT_TRUE(complete("1"));
  broken_ = {"n1"};
  change("2");
  ASSERT_TRUE(until([&] { return rollout() == "Failed"; })) << dump_json(set());
  testing::settle(*hub_, *hub_);
  EXPECT_FALSE(with("2").contains("n3"));
  EXPECT_FALSE(with("2").contains("n4"));
  // Only what had the new template is changed back, what failed first.
  broken_.clear();
  change("1");
  ASSERT_TRUE(complete("1"));
  EXPECT_LE(most_, 2);
  const auto revisions = history();
  ASSERT_EQ(revisions.size(), 3U);
  EXPECT_EQ(revisions[1].outcome, kOutcomeSuperseded);
  EXPECT_EQ(revisions[2].copied_from, 1);
}

TEST_F(RolloutController, PauseHoldsAndResumeGoesOn) {
  reset(kCanaryThenTwo);
  start();
  ASSERT_TRUE(complete("1"));
  annotate(kPausedAnnotation, "true");
  change("2");
  ASSERT_TRUE(until([&] { return rollout() == "Paused"; }));
  testing::settle(*hub_, *hub_);
  const int before = controller_.writes();
  testkit::put_decision(*hub_, "apps", "p", 1, {"", {"n1", "n2", "n3"}});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(controller_.writes(), before);
  EXPECT_TRUE(with("2").empty());
  testkit::put_decision(*hub_, "apps", "p", 1, {"", {"n1", "n2", "n3", "n4"}});
  annotate(kPausedAnnotation, nullptr);
  EXPECT_TRUE(complete("2"));
}

TEST_F(RolloutController, AbortEndsThatRevisionOnly) {
  reset(R"({"type": "Progressive", "progressive": {"maxConcurrency": 1}})");
  start();
  ASSERT_TRUE(complete("1"));
  broken_ = {"c1"};
  change("2");
  ASSERT_TRUE(until([&] { return rollout() == "Failed"; }));
  annotate(kAbortedAnnotation, "2");
  ASSERT_TRUE(until([&] { return rollout() == "Aborted" && history().back().outcome == kOutcomeAborted; }));
  broken_.clear();
  agents();
  testing::settle(*hub_, *hub_);
  EXPECT_EQ(with("2"), NameSet{"c1"});
  change("3");
  EXPECT_TRUE(complete("3"));
}

TEST_F(RolloutController, AnAgentThatIsSilentTimesOutWithinTheLimit) {
  reset(R"({"type": "Progressive", "progressive": {"maxConcurrency": 1, "maxFailures": 1, "progressDeadline": "1s"}})");
  start();
  silent_ = {"c1"};
  ASSERT_TRUE(until([&] { return with("1").size() == 5 && !history().empty() && history().back().outcome == kOutcomePartial; }))
      << dump_json(set());
  EXPECT_EQ(rollout(), "Partial");
}

}  // namespace
}  // namespace fleetadm::work
