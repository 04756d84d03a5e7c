// What a change of an add-on's configurations would do, and the way back, on objects in memory.
#include <gtest/gtest.h>

#include "core/addon/plan/addon_change.h"
#include "core/addon/rules/earlier_contents.h"
#include "core/api/kinds.h"
#include "core/work/rules/replica_set_revisions.h"
#include "tests/support/fake_api.h"
#include "tests/unit/core/addon/rules/rollout_world.h"

namespace fleetadm::addon {
namespace {

struct PlanRules : RolloutRules {
  AddonRolloutPlan plan() const {
    auto found = plan_addon_rollout(objects, "a", all_known, now);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : AddonRolloutPlan();
  }
  /// "step cluster" of each, in order.
  static std::string told(const AddonRolloutPlan& plan) {
    std::string text;
    for (const PlannedCluster& one : plan.clusters)
      text += (text.empty() ? "" : ", ") + std::to_string(one.step) + " " + one.cluster;
    return text;
  }
  void put_fleet(const Json& strategy, const std::vector<std::vector<std::string>>& groups) {
    put_config("base", "one");
    put_declaration(strategy);
    put_placement(groups);
    for (const auto& group : groups) {
      for (const std::string& cluster : group) put_addon(cluster);
    }
  }
};

TEST_F(PlanRules, AProgressiveRolloutTakesItsClustersStepByStep) {
  put_fleet(progressive(2), {{"c1", "c2", "c3", "c4", "c5"}});
  const AddonRolloutPlan found = plan();
  EXPECT_EQ(told(found), "1 c1, 1 c2, 2 c3, 2 c4, 3 c5");
  EXPECT_EQ(found.steps(), 3U);
  EXPECT_EQ(found.at_once(), 2U);
  EXPECT_EQ(found.clusters[0].placement, "ns/p");
}

TEST_F(PlanRules, GroupsComeOneAfterTheOtherWithTheirSoak) {
  const Json strategy{{"type", "ProgressivePerGroup"}, {"progressivePerGroup", {{"minSuccessTime", "5m"}}}};
  put_fleet(strategy, {{"canary"}, {"c1", "c2"}});
  const AddonRolloutPlan found = plan();
  EXPECT_EQ(told(found), "1 canary, 2 c1, 2 c2");
  EXPECT_EQ(found.clusters[0].after, Duration::zero());
  EXPECT_EQ(found.clusters[1].after, std::chrono::minutes(5));
  ASSERT_TRUE(found.clusters[1].group);
  EXPECT_EQ(found.clusters[1].group->index, 1);
}

TEST_F(PlanRules, TheFirstStepAloneTellsWhoBeginsAtOnceAndWhoFollows) {
  put_fleet(progressive(2), {{"c1", "c2", "c3", "c4", "c5"}});
  const auto found = plan_addon_rollout(objects, "a", all_known, now, Course::kFirstStep);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(told(*found), "1 c1, 1 c2, 2 c3, 2 c4, 2 c5");
  EXPECT_EQ(found->at_once(), 2U);
  EXPECT_TRUE(found->waiting.empty());
}

TEST_F(PlanRules, WhoHasItAlreadyIsNotChanged) {
  put_fleet(progressive(1), {{"c1", "c2"}});
  for (const char* cluster : {"c1", "c2"}) {
    roll();
    complete(cluster);
  }
  roll();
  EXPECT_EQ(told(plan()), "");
  EXPECT_EQ(plan().unchanged, 2U);
  put_config("base", "two");
  EXPECT_EQ(told(plan()), "1 c1, 2 c2");
}

TEST_F(PlanRules, AClusterThatThePlacementSelectsNextCounts) {
  put_fleet(progressive(1), {{"c1", "c2"}});
  objects.remove(managed_cluster_addons(), "c2", "a");
  EXPECT_EQ(told(plan()), "1 c1, 2 c2");
}

TEST_F(PlanRules, APausedRolloutIsPlannedAsThoughItWentOn) {
  put_fleet(progressive(1), {{"c1"}});
  Json paused = declaration();
  at_or_make(paused, {"metadata", "annotations", work::kPausedAnnotation}) = "true";
  objects.put(paused);
  EXPECT_EQ(told(plan()), "1 c1");
}

TEST_F(PlanRules, AMissingConfigurationLetsAllWait) {
  put_fleet(progressive(1), {{"c1"}});
  objects.remove(addon_deployment_configs(), "ns", "base");
  const AddonRolloutPlan found = plan();
  EXPECT_EQ(told(found), "");
  ASSERT_TRUE(found.missing);
  EXPECT_EQ(found.waiting, std::vector<std::string>{"c1"});
}

// --- a change, against an API server in memory ---

struct ChangeRules : testing::Test {
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  Instant now = kStart;

  ChangeRules() {
    put_config("base", "one");
    hub->put(api::cluster_management_addons(),
             {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
              {"kind", "ClusterManagementAddOn"},
              {"metadata", {{"name", "a"}}},
              {"spec",
               {{"installStrategy", {{"type", "Manual"}}},
                {"supportedConfigs", Json::array({{{"group", "addon.open-cluster-management.io"},
                                                   {"resource", "addondeploymentconfigs"},
                                                   {"defaultConfig", {{"name", "base"}, {"namespace", "ns"}}}}})}}}});
    hub->put(api::managed_cluster_addons(), {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                             {"kind", "ManagedClusterAddOn"},
                                             {"metadata", {{"name", "a"}, {"namespace", "c1"}}},
                                             {"spec", Json::object()}});
  }
  void put_config(const std::string& name, const std::string& value) const {
    hub->put(api::addon_deployment_configs(), {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                                               {"kind", "AddOnDeploymentConfig"},
                                               {"metadata", {{"name", name}, {"namespace", "ns"}}},
                                               {"spec", {{"agentInstallNamespace", value}}}});
  }
  AddonRolloutObjects read(const std::vector<DesiredConfig>& further = {}) const {
    auto found = read_addon_rollout(hub->client(), "a", further);
    EXPECT_TRUE(found) << found.error().message;
    return found ? std::move(*found) : AddonRolloutObjects();
  }
  Json declaration() const { return *hub->get(api::cluster_management_addons(), "", "a"); }
  std::string value() const {
    return str(*hub->get(api::addon_deployment_configs(), "ns", "base"), {"spec", "agentInstallNamespace"});
  }
  static ConfigKey base() { return {addon_deployment_configs(), "ns", "base"}; }
  Result<Json> edit_in_place(const std::string& next) {
    const AddonRolloutObjects objects = read();
    const std::string hash = live_configs(objects.objects, *objects.declaration("a"), objects.known()).defaults.at(0).hash;
    AddonChange change{"a", {{base(), {{"spec", {{"agentInstallNamespace", next}}}}, hash}}};
    change.note.by = "ann";
    FLEETADM_TRY(const PreparedChange prepared, prepare_change(objects, std::move(change), now));
    return carry_out_change(hub->client(), prepared, now);
  }
};

TEST_F(ChangeRules, AnEditInPlaceIsNotedWithWhatWasBefore) {
  ASSERT_TRUE(edit_in_place("two"));
  EXPECT_EQ(value(), "two");
  const auto revisions = addon_revisions(declaration());
  ASSERT_EQ(revisions.size(), 2U);
  EXPECT_EQ(revisions[0].by, "");
  EXPECT_EQ(revisions[1].by, "ann");
  EXPECT_NE(revisions[0].configs.defaults[0].hash, revisions[1].configs.defaults[0].hash);
}

// The hub may see the edit, and note it as the next revision, before the command notes anything.
TEST_F(ChangeRules, WhatEveryClusterHadIsNotedAlsoWhereTheHubIsFaster) {
  const AddonRolloutObjects objects = read();
  AddonChange change{"a", {{base(), {{"spec", {{"agentInstallNamespace", "two"}}}}, {}}}};
  const RevisionConfigs from = live_configs(objects.objects, *objects.declaration("a"), objects.known());
  change.edits[0].before = from.defaults.at(0).hash;
  auto prepared = prepare_change(objects, std::move(change), now);
  ASSERT_TRUE(prepared) << prepared.error().message;
  prepared->settled = true;
  Json noted = declaration();
  note_revision(noted, prepared->from, {}, now);
  note_revision(noted, prepared->to, {}, now);
  hub->put(api::cluster_management_addons(), noted);
  ASSERT_TRUE(carry_out_change(hub->client(), *prepared, now));
  const auto revisions = addon_revisions(declaration());
  ASSERT_EQ(revisions.size(), 2U);
  EXPECT_TRUE(revisions[0].finished);
  EXPECT_FALSE(revisions[1].finished);
}

TEST_F(ChangeRules, TheWayBackPutsTheContentsBack) {
  ASSERT_TRUE(edit_in_place("two"));
  const auto revisions = addon_revisions(declaration());
  const auto edits = edits_towards(read(), revisions[0].configs.all());
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->size(), 1U);
  ASSERT_TRUE(write_edit(hub->client(), edits->front()));
  EXPECT_EQ(value(), "one");
}

TEST_F(ChangeRules, ContentsThatNobodyKeptAreToldOf) {
  ASSERT_TRUE(edit_in_place("two"));
  const auto revisions = addon_revisions(declaration());
  put_config("base", "by hand");  // without the annotation
  const auto edits = edits_towards(read(), revisions[0].configs.all());
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().category, Category::kConflict);
  hub->erase(api::addon_deployment_configs(), "ns", "base");
  EXPECT_FALSE(edits_towards(read(), revisions[0].configs.all()));
}

TEST_F(ChangeRules, WhatWasChangedInTheMeantimeIsNotOverwritten) {
  const AddonRolloutObjects objects = read();
  AddonChange change{"a", {}};
  change.edit = [](Json& declared) -> Status {
    declared["spec"]["defaultConfigs"][0]["name"] = "next";
    return {};
  };
  const auto prepared = prepare_change(objects, change, now);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_TRUE(prepared->differs);
  Json other = declaration();
  other["spec"]["supportedConfigs"][0]["defaultConfig"]["name"] = "theirs";
  hub->put(api::cluster_management_addons(), other);
  const auto stored = carry_out_change(hub->client(), *prepared, now);
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().category, Category::kConflict);
  EXPECT_EQ(str(declaration()["spec"]["supportedConfigs"][0], {"defaultConfig", "name"}), "theirs");
}

TEST_F(ChangeRules, TheConfigurationsOfOneClusterAreSetThere) {
  AddonChange change{"a", {}};
  change.own["c1"] = Json::array({RolloutRules::config("base")});
  const auto prepared = prepare_change(read(), change, now);
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_TRUE(carry_out_change(hub->client(), *prepared, now));
  EXPECT_EQ(list_at(*hub->get(api::managed_cluster_addons(), "c1", "a"), {"spec", "configs"}).size(), 1U);
  change.own["c9"] = change.own["c1"];
  EXPECT_EQ(prepare_change(read(), change, now).error().category, Category::kNotFound);
}

}  // namespace
}  // namespace fleetadm::addon
