// rollout status, plan, pause, resume, abort, undo, history and restart against a hub in memory whose controller runs.
#include "commands/rollout/rollout.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "commands/rollout/view.h"
#include "core/api/kinds.h"
#include "core/placement/decode.h"
#include "core/work/conditions.h"
#include "core/work/names.h"
#include "core/work/replica_set.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
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
    Json labels{{std::string(api::kPlacementLabel), "p"}, {std::string(placement::kGroupIndexLabel), "0"}};
    hub_->put(api::placement_decisions(),
              {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
               {"kind", "PlacementDecision"},
               {"metadata", {{"name", "p-decision-1"}, {"namespace", "default"}, {"labels", labels}}},
               {"status", {{"decisions", {{{"clusterName", "c1"}}, {{"clusterName", "c2"}}, {{"clusterName", "c3"}}}}}}});
    hub_->put(api::placements(),
              {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
               {"kind", "Placement"},
               {"metadata", {{"name", "p"}, {"namespace", "default"}}},
               {"status", {{"numberOfSelectedClusters", 3}, {"decisionGroups", Json::array({Json::object()})}}}});
    Json ref{{"name", "p"}, {"rolloutStrategy", {{"type", "Progressive"}, {"progressive", {{"maxConcurrency", 1}}}}}};
    hub_->put(api::manifest_work_replica_sets(),
              {{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
               {"kind", "ManifestWorkReplicaSet"},
               {"metadata", {{"name", "web"}, {"namespace", "default"}}},
               {"spec",
                {{"placementRefs", Json::array({ref})},
                 {"manifestWorkTemplate", {{"workload", {{"manifests", Json::array({manifest("1")})}}}}}}}});
    work::add_replica_set_controller(manager_, hub_->client());
    controller_ = std::jthread([this](std::stop_token stop) { EXPECT_TRUE(manager_.run(std::move(stop))); });
    agents_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        report();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  }
  ~RolloutCommands() override {
    agents_ = {};
    controller_ = {};
  }
  /// Every agent reports: success, or failure on the broken cluster.
  void report() {
    for (const Json& work : hub_->all(api::manifest_works())) {
      const std::int64_t generation = num(work, {"metadata", "generation"});
      const std::string wanted = namespace_of(work) == "c2" && broken_ ? "False" : "True";
      const Json* applied = work::condition_in(list_at(work, {"status", "conditions"}), "Applied");
      if (applied != nullptr && num(*applied, {"observedGeneration"}) == generation && str(*applied, {"status"}) == wanted)
        continue;
      Json conditions = Json::array();
      for (const char* type : {"Applied", "Available"}) {
        conditions.push_back({{"type", type},
                              {"status", wanted},
                              {"message", wanted == "True" ? "" : "no such type"},
                              {"lastTransitionTime", format_time(Clock::system()->now())},
                              {"observedGeneration", generation}});
      }
      const Json manifests = Json::array(
          {{{"resourceMeta", {{"kind", "ConfigMap"}, {"namespace", "web"}, {"name", "a"}}}, {"conditions", conditions}}});
      kube::WriteOptions options;
      options.subresource = "status";
      (void)hub_->client().patch(api::manifest_works(), namespace_of(work), name_of(work), kube::PatchType::kMerge,
                                 Json{{"status", {{"conditions", conditions}, {"resourceStatus", {{"manifests", manifests}}}}}},
                                 options);
    }
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
  controller::Manager manager_{controller::Manager::Options{}};
  std::jthread controller_;
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
  EXPECT_EQ(history->table->rows[2][5], "the template of revision 1");
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
  const int before = hub_->write_count();
  const std::string file = folder_.write("new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\n");
  const auto plan = run("rollout plan", {{"filename", file}});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->table->rows.size(), 3U);
  EXPECT_EQ(plan->table->rows[0][0], "1");
  EXPECT_EQ(plan->table->rows[2][0], "3");
  EXPECT_EQ(plan->table->rows[2][1], "c3");
  EXPECT_EQ(plan->table->rows[2][2], "change");
  EXPECT_EQ(hub_->write_count(), before);
  const auto nothing = run("rollout plan");
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->table->rows.empty());
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
  controller_ = {};  // the hub has no controller any more
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
