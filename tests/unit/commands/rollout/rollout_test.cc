// rollout status, plan, pause, resume, abort, undo, history and restart against a hub in memory whose controller runs.
#include "commands/rollout/rollout.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "commands/rollout/view.h"
#include "core/api/kinds.h"
#include "core/work/hub/replica_set.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/killable.h"
#include "tests/support/replica_sets.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

Json manifest(const std::string& value) {
  return {
      {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "a"}, {"namespace", "web"}}}, {"data", {{"v", value}}}};
}

class RolloutCommands : public testing::Test {
 protected:
  RolloutCommands() {
    register_rollout(registry_);
    testkit::put_decided(*hub_, "default", "p", {{"", {"c1", "c2", "c3"}}});
    Json ref{{"name", "p"}, {"rolloutStrategy", {{"type", "Progressive"}, {"progressive", {{"maxConcurrency", 1}}}}}};
    hub_->put(api::manifest_work_replica_sets(),
              {{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
               {"kind", "ManifestWorkReplicaSet"},
               {"metadata", {{"name", "web"}, {"namespace", "default"}}},
               {"spec",
                {{"placementRefs", Json::array({ref})},
                 {"manifestWorkTemplate", {{"workload", {{"manifests", Json::array({manifest("1")})}}}}}}}});
    controller_.start([this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
      work::add_replica_set_controller(manager, hub_->client(gate));
    });
    agents_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        report();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  }
  ~RolloutCommands() override { agents_ = {}; }
  /// Every agent reports: success, or failure on the broken cluster.
  void report() {
    testkit::report_as_agents(*hub_, [this](const std::string& cluster) -> std::optional<std::string> {
      return cluster == "c2" && broken_ ? "False" : "True";
    });
  }
  Result<Report> run(const std::string& path, const Flags& flags = {}) {
    return testkit::run_command(registry_, path, context_, flags, {"web"});
  }
  int wait_for_end() {
    const auto report = run("rollout status", {{"watch", "true"}, {"timeout", "20s"}});
    EXPECT_TRUE(report) << report.error().message;
    return report ? report->exit_code : -1;
  }
  void change(const std::string& value) {
    const Json body{{"spec", {{"manifestWorkTemplate", {{"workload", {{"manifests", Json::array({manifest(value)})}}}}}}}};
    ASSERT_TRUE(hub_->client().patch(api::manifest_work_replica_sets(), "default", "web", kube::PatchType::kMerge, body));
  }
  std::string value_of(const std::string& cluster) const {
    for (const Json& work : hub_->all(api::manifest_works())) {
      if (namespace_of(work) == cluster) return str(list_at(work, {"spec", "workload", "manifests"})[0], {"data", "v"});
    }
    return "<none>";
  }

  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make();
  std::atomic<bool> broken_ = false;
  testkit::FakeContext context_{hub_->client()};
  testkit::TemporaryFolder folder_{"rollout-commands"};
  Registry registry_;
  testkit::Killable controller_;
  std::jthread agents_;
};

TEST_F(RolloutCommands, StatusTellsDoneAndFailedApartAndNamesTheManifest) {
  EXPECT_EQ(wait_for_end(), 0);
  broken_ = true;
  report();
  change("2");
  EXPECT_EQ(wait_for_end(), 1);
  const auto status = run("rollout status");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->exit_code, 1);
  const std::string blocking = str(status->data, {"blocking"});
  EXPECT_NE(blocking.find("c2"), std::string::npos) << blocking;
  EXPECT_NE(blocking.find("ConfigMap web/a: no such type"), std::string::npos) << blocking;
  EXPECT_EQ(num(status->data, {"revision"}), 2);
  ASSERT_EQ(status->branches.size(), status->table->rows.size());
  ASSERT_EQ(status->branches.front().size(), 4U) << "rollout, placement, group, cluster";
  EXPECT_EQ(status->branches.front().front(), "web: Failed");
  EXPECT_TRUE(status->branches.front()[1].starts_with("placement "));
  EXPECT_TRUE(status->branches.front().back().starts_with(status->table->rows.front().front() + ": "));
}

TEST_F(RolloutCommands, AWatchAwayFromATerminalTellsItsProgressOnStderrAsARunningStep) {
  ASSERT_EQ(wait_for_end(), 0);
  EXPECT_TRUE(context_.emitted.empty()) << "progress is no data";
  const std::vector<std::string>& told = context_.steps.told;
  ASSERT_GE(told.size(), 2U);
  EXPECT_EQ(told.front(), "Rollout of web") << "a step that runs is told every 10 s";
  EXPECT_TRUE(told[1].starts_with("web: ")) << told[1];
}

TEST_F(RolloutCommands, UndoReturnsAndHistoryTells) {
  ASSERT_EQ(wait_for_end(), 0);
  change("2");
  ASSERT_EQ(wait_for_end(), 0);
  const auto undone = run("rollout undo");
  ASSERT_TRUE(undone) << undone.error().message;
  ASSERT_EQ(wait_for_end(), 0);
  for (const char* cluster : {"c1", "c2", "c3"}) EXPECT_EQ(value_of(cluster), "1");
  const auto history = run("rollout history");
  ASSERT_TRUE(history);
  ASSERT_EQ(history->table->rows.size(), 3U);
  EXPECT_EQ(history->table->rows[2][5], "same template as revision 1");
  EXPECT_EQ(history->table->rows[1][1], "Complete");
  const auto second = run("rollout history", {{"revision", "2"}});
  ASSERT_TRUE(second);
  EXPECT_EQ(str(list_at(second->data, {"manifestWorkTemplate", "workload", "manifests"})[0], {"data", "v"}), "2");
  ASSERT_TRUE(run("rollout undo", {{"to-revision", "2"}}));
  ASSERT_EQ(wait_for_end(), 0);
  EXPECT_EQ(value_of("c3"), "2");
  const auto none = run("rollout undo", {{"to-revision", "9"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().category, Category::kNotFound);
}

TEST_F(RolloutCommands, PauseHoldsAndResumeGoesOn) {
  ASSERT_EQ(wait_for_end(), 0);
  const auto paused = run("rollout pause", {{"timeout", "10s"}});
  ASSERT_TRUE(paused) << paused.error().message;
  change("2");
  EXPECT_EQ(wait_for_end(), 7);
  EXPECT_EQ(value_of("c1"), "1");
  const auto resumed = run("rollout resume", {{"timeout", "10s"}});
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_EQ(value_of("c3"), "2");
}

TEST_F(RolloutCommands, AbortAndRestart) {
  ASSERT_EQ(wait_for_end(), 0);
  EXPECT_FALSE(run("rollout abort")) << "it is complete";
  broken_ = true;
  report();
  change("2");
  ASSERT_EQ(wait_for_end(), 1);
  const auto aborted = run("rollout abort", {{"timeout", "10s"}});
  ASSERT_TRUE(aborted) << aborted.error().message;
  EXPECT_EQ(str(run("rollout status")->data, {"state"}), "Aborted");
  EXPECT_FALSE(run("rollout resume"));
  EXPECT_FALSE(run("rollout restart")) << "failed clusters are not passed over silently";
  broken_ = false;
  const auto restarted = run("rollout restart", {{"failed", "true"}, {"timeout", "10s"}});
  ASSERT_TRUE(restarted) << restarted.error().message;
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_EQ(value_of("c3"), "2");
}

TEST_F(RolloutCommands, PlanShowsOrderAndBatchesAndWritesNothing) {
  ASSERT_EQ(wait_for_end(), 0);
  controller_.stop();  // it may still be writing of what has ended
  const auto before = hub_->writes().size();
  const std::string file = folder_.write("new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\n");
  const auto plan = run("rollout plan", {{"filename", file}});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->table->rows.size(), 3U);
  EXPECT_EQ(plan->table->rows[0][0], "1");
  EXPECT_EQ(plan->table->rows[2][0], "3");
  EXPECT_EQ(plan->table->rows[2][1], "c3");
  EXPECT_EQ(plan->table->rows[2][2], "change");
  EXPECT_EQ(hub_->writes().size(), before);
  const auto nothing = run("rollout plan");
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->table->rows.empty());
}

TEST_F(RolloutCommands, PlanOfWhatIsYetToBeStarted) {
  const std::string file = folder_.write("new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: web}\n");
  const auto plan = testkit::run_command(
      registry_, "rollout plan", context_,
      {{"filename", file}, {"placement", "p"}, {"strategy", "progressive"}, {"max-concurrency", "2"}}, {"fresh"});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->table->rows.size(), 3U);
  EXPECT_EQ(plan->table->rows[0][2], "create");
  EXPECT_EQ(plan->table->rows[1][0], "1");
  EXPECT_EQ(plan->table->rows[2][0], "2");
  EXPECT_FALSE(hub_->get(api::manifest_work_replica_sets(), "default", "fresh"));
  const auto none = testkit::run_command(registry_, "rollout plan", context_, {{"filename", file}}, {"fresh"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().category, Category::kNotFound);
  // What the guard will say is said before.
  ASSERT_EQ(wait_for_end(), 0);
  testkit::put_decided(*hub_, "default", "empty", {{"", {}}});
  const auto away = run("rollout plan", {{"placement", "empty"}});
  ASSERT_TRUE(away) << away.error().message;
  ASSERT_FALSE(away->notes.empty());
  EXPECT_NE(away->notes.back().find("3 of 3 clusters that have it"), std::string::npos) << away->notes.back();
}

TEST_F(RolloutCommands, AWatchAsksNothingMoreWhileNothingChanges) {
  ASSERT_EQ(wait_for_end(), 0);
  const auto paused = run("rollout pause", {{"timeout", "10s"}});
  ASSERT_TRUE(paused) << paused.error().message;
  broken_ = true;
  change("2");  // the hub holds: nothing happens
  ASSERT_TRUE(run("rollout resume", {{"timeout", "10s"}}));
  ASSERT_EQ(wait_for_end(), 1);
  controller_.stop();
  agents_ = {};
  // It is under way, says the hub, and nobody moves.
  for (const Json& work : hub_->all(api::manifest_works())) {
    if (namespace_of(work) != "c2") continue;
    Json silent = work;
    erase_at(silent, {"status"});
    hub_->put(api::manifest_works(), silent);
  }
  const auto reads = [this] {
    const auto calls = hub_->calls();
    return std::count_if(calls.begin(), calls.end(), [](const testkit::ApiCall& call) { return call.verb != "watch"; });
  };
  const auto before = reads();
  const auto late = run("rollout status", {{"watch", "true"}, {"timeout", "3s"}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().category, Category::kTimeout);
  EXPECT_LE(reads() - before, 6) << "one read and five first lists";
}

TEST_F(RolloutCommands, AWatchOutlivesAHubThatIsAwayAndEndsWithItsSet) {
  ASSERT_EQ(wait_for_end(), 0);
  controller_.stop();
  change("2");
  std::jthread away([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    hub_->break_watches();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    hub_->erase(api::manifest_work_replica_sets(), "default", "web");
  });
  const auto ended = run("rollout status", {{"watch", "true"}, {"timeout", "20s"}});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().category, Category::kNotFound);
}

TEST_F(RolloutCommands, StartMakesChangesAndGuards) {
  ASSERT_EQ(wait_for_end(), 0);
  const std::string file =
      folder_.write("two.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\ndata: {v: '2'}\n");
  const auto started =
      run("rollout start",
          {{"filename", file}, {"max-concurrency", "2"}, {"max-failures", "10%"}, {"wait", "true"}, {"timeout", "20s"}});
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(started->exit_code, 0);
  EXPECT_EQ(value_of("c3"), "2");
  const Json set = *hub_->get(api::manifest_work_replica_sets(), "default", "web");
  const Json& ref = list_at(set, {"spec", "placementRefs"})[0];
  EXPECT_EQ(num(ref, {"rolloutStrategy", "progressive", "maxConcurrency"}), 2);
  EXPECT_EQ(str(ref, {"rolloutStrategy", "progressive", "maxFailures"}), "10%");
  const auto again = run("rollout start", {{"filename", file}});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->lines[0], "rollout web unchanged");
  EXPECT_EQ(num(*hub_->get(api::manifest_work_replica_sets(), "default", "web"), {"metadata", "generation"}),
            num(set, {"metadata", "generation"}));
  // Another placement that has decided on nothing would take it away everywhere.
  hub_->put(api::placements(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                                {"kind", "Placement"},
                                {"metadata", {{"name", "empty"}, {"namespace", "default"}}}});
  const auto guarded = run("rollout start", {{"filename", file}, {"placement", "empty"}});
  ASSERT_FALSE(guarded);
  EXPECT_NE(guarded.error().hint.find("--allow-removals"), std::string::npos);
  EXPECT_EQ(value_of("c1"), "2");
  EXPECT_TRUE(run("rollout start", {{"filename", file}, {"placement", "empty"}, {"allow-removals", "true"}}));
  const auto fresh =
      testkit::run_command(registry_, "rollout start", context_, {{"filename", file}, {"placement", "p"}}, {"other"});
  ASSERT_TRUE(fresh) << fresh.error().message;
  EXPECT_TRUE(hub_->get(api::manifest_work_replica_sets(), "default", "other"));
  for (const Flags& wrong :
       {Flags{{"filename", file}, {"max-failures", "many"}}, Flags{{"filename", file}, {"progress-deadline", "2d"}},
        Flags{{"filename", file}, {"strategy", "all"}, {"max-concurrency", "2"}}}) {
    const auto answer = run("rollout start", wrong);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().category, Category::kUsage);
  }
}

TEST_F(RolloutCommands, RunDrivesOneSetWhereNobodyElseDoes) {
  controller_.stop();  // the hub has no controller any more
  change("5");
  const Json lease{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", {{"name", "fleetadm-hub-lock"}, {"namespace", std::string(api::kHubNamespace)}}},
      {"spec",
       {{"holderIdentity", "hub-1"}, {"leaseDurationSeconds", 15}, {"renewTime", format_micro_time(Clock::system()->now())}}}};
  hub_->put(kube::resources::leases(), lease);
  EXPECT_FALSE(run("rollout run", {{"timeout", "20s"}}));
  hub_->erase(kube::resources::leases(), std::string(api::kHubNamespace), "fleetadm-hub-lock");
  const auto done = run("rollout run", {{"timeout", "20s"}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->exit_code, 0);
  EXPECT_EQ(value_of("c3"), "5");
}

TEST_F(RolloutCommands, WhatIsNotThereIsSaid) {
  for (const char* path : {"rollout status", "rollout pause", "rollout undo", "rollout history", "rollout plan"}) {
    const auto answer = testkit::run_command(registry_, path, context_, {}, {"other"});
    ASSERT_FALSE(answer) << path;
    EXPECT_EQ(answer.error().category, Category::kNotFound);
    EXPECT_FALSE(answer.error().hint.empty());
  }
}

}  // namespace
}  // namespace fleetadm::commands
