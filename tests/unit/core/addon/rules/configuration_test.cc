// Where the hub configures and rolls out add-ons otherwise than upstream.
#include "core/addon/rules/configuration.h"

#include <gtest/gtest.h>

#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/installation.h"
#include "tests/unit/core/addon/rules/rollout_world.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;

TEST_F(RolloutRules, ContentThatChangesUnderItsNameIsRolledOutStepByStep) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1", "c2"}});
  put_addon("c1");
  put_addon("c2");
  roll();
  EXPECT_EQ(hash_in("c1"), live("base"));
  EXPECT_EQ(hash_in("c2"), "");
  complete("c1");
  roll();
  complete("c2");
  roll();
  EXPECT_EQ(progress(), "selected clusters 2. configured addons 2/2 completed with no errors, 0 failed 0 timeout.");
  const std::string before = live("base");
  put_config("base", "two");
  roll();
  EXPECT_EQ(hash_in("c1"), live("base"));
  EXPECT_EQ(hash_in("c2"), before) << "its turn has not come";
  EXPECT_EQ(configured("c2"), "False: Configurations updated and not configured yet");
  complete("c1");
  roll();
  EXPECT_EQ(hash_in("c2"), live("base"));
}

TEST_F(RolloutRules, SoIsTheContentOfAConfigurationThatTheAddOnsNameThemselves) {
  put_config("base", "one");
  put_config("mine", "one");
  put_declaration(progressive(1));
  put_placement({{"c1", "c2"}});
  for (const char* cluster : {"c1", "c2"}) put_addon(cluster, Json{{"configs", Json::array({config("mine")})}});
  roll();
  complete("c1");
  roll();
  complete("c2");
  const std::string before = live("mine");
  put_config("mine", "two");
  for (const char* cluster : {"c1", "c2"}) {
    Json object = addon(cluster);
    observe_configs(object, objects, all_known, Semantics::kStrict);
    objects.put(object);
  }
  roll();
  EXPECT_EQ(hash_in("c1"), live("mine"));
  EXPECT_EQ(hash_in("c2"), before);
}

TEST_F(RolloutRules, AnAddOnWaitsWhilePlacementHasNoProgression) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1", "c2"}});
  put_addon("c1");
  put_addon("c2");
  const Pass upstream = written(configure_addons(objects, "a", all_known, now, Semantics::kUpstream), Semantics::kUpstream);
  EXPECT_EQ(upstream.changed.size(), 3U) << "upstream configures both at once, and tells it in the declaration";
  take(written(configure_addons(objects, "a", all_known, now, Semantics::kStrict)));
  EXPECT_EQ(configured("c1"), "");
  EXPECT_EQ(configured("c2"), "");
  roll();  // with the progression of the same view
  EXPECT_EQ(configured("c1"), "True: Configurations configured");
  EXPECT_EQ(configured("c2"), "False: Configurations updated and not configured yet");
}

TEST_F(RolloutRules, AnAddOnThatNamesAConfigurationTwiceCompletes) {
  put_config("base", "one");
  put_config("mine", "one");
  put_declaration(progressive(1));
  put_placement({{"c1"}});
  put_addon("c1", Json{{"configs", Json::array({config("mine"), config("mine")})}});
  roll();
  complete("c1");
  roll();
  EXPECT_EQ(progress(), "selected clusters 1. configured addons 1/1 completed with no errors, 0 failed 0 timeout.");
}

TEST_F(RolloutRules, AConfigurationThatDoesNotExistIsNamedAndNotRolledOut) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1", "c2"}});
  put_addon("c1", Json{{"configs", Json::array({config("gone")})}});
  put_addon("c2");
  roll();
  EXPECT_EQ(hash_in("c1"), "");
  const std::string missing = "Configuration addondeploymentconfigs.addon.open-cluster-management.io ns/gone does not exist";
  EXPECT_EQ(configured("c1"), "False: " + missing);
  EXPECT_EQ(hash_in("c2"), live("base")) << "it holds nobody else";
  EXPECT_EQ(progress(), "selected clusters 2. configured addons 1/2 progressing..., 0 failed 0 timeout. " + missing + ".");
  put_config("gone", "one");
  complete("c2");
  roll();
  EXPECT_EQ(hash_in("c1"), live("gone"));
}

TEST_F(RolloutRules, WhatWasConfiguredStaysWhenTheConfigurationGoes) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1"}});
  put_addon("c1");
  roll();
  complete("c1");
  const std::string before = hash_in("c1");
  objects.remove(addon_deployment_configs(), "ns", "base");
  roll();
  EXPECT_EQ(hash_in("c1"), before);
  EXPECT_EQ(configured("c1"),
            "False: Configuration addondeploymentconfigs.addon.open-cluster-management.io ns/base does not exist");
}

TEST_F(RolloutRules, AClusterWhoseAddOnALaterPlacementTookHoldsNoGroup) {
  put_config("base", "one");
  put_placement({{"c1", "c2"}, {"c3"}});
  put_placement({{"c2"}}, "q");
  put_declaration(Json{{"type", "ProgressivePerGroup"}});
  Json both = declaration();
  both["spec"]["installStrategy"]["placements"].push_back(
      Json{{"name", "q"}, {"namespace", "ns"}, {"rolloutStrategy", {{"type", "All"}}}});
  objects.put(both);
  for (const char* cluster : {"c1", "c2", "c3"}) put_addon(cluster);
  roll();
  complete("c1");
  complete("c2");
  roll();
  EXPECT_EQ(hash_in("c3"), live("base"));
}

TEST_F(RolloutRules, AGroupWaitsForTheAddOnThatIsYetToBeInstalled) {
  put_config("base", "one");
  put_declaration(Json{{"type", "ProgressivePerGroup"}});
  put_placement({{"c1"}, {"c2"}});
  put_addon("c2");
  roll();
  EXPECT_EQ(hash_in("c2"), "");
}

TEST_F(RolloutRules, TheDeadlineBeginsWithEachConfiguration) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1"}});
  put_addon("c1");
  roll();
  Json object = addon("c1");
  controller::set_condition(object["status"]["conditions"], "Progressing", "True", "Progressing", "", now);
  objects.put(object);
  now += std::chrono::minutes(4);
  put_config("base", "two");
  roll();
  now += std::chrono::minutes(2);
  roll();
  EXPECT_EQ(progress(), "selected clusters 1. configured addons 1/1 progressing..., 0 failed 0 timeout.");
  now += std::chrono::minutes(4);
  roll();
  EXPECT_EQ(progress(), "selected clusters 1. configured addons 0/1 progressing..., 0 failed 1 timeout.");
}

TEST_F(RolloutRules, AnAddOnThatNeverReportsTimesOut) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1"}});
  put_addon("c1");
  roll();
  Json object = addon("c1");
  controller::set_condition(object["status"]["conditions"], "Progressing", "False", "WaitingForManifestApplied", "", now);
  objects.put(object);
  now += std::chrono::minutes(6);
  roll();
  EXPECT_EQ(progress(), "selected clusters 1. configured addons 0/1 progressing..., 0 failed 1 timeout.");
}

TEST_F(RolloutRules, NothingIsUninstalledWhileDecisionsAreBeingWritten) {
  put_declaration(progressive(1));
  put_placement({{"c1"}}, "p", Json{{"numberOfSelectedClusters", 2}});
  put_addon("c1");
  put_addon("c2");
  EXPECT_EQ(install_addon(objects, "a", Semantics::kUpstream).deleted.size(), 1U);
  EXPECT_TRUE(install_addon(objects, "a", Semantics::kStrict).deleted.empty());
  put_placement({{"c1"}}, "p", Json{{"numberOfSelectedClusters", 1}});
  EXPECT_EQ(install_addon(objects, "a", Semantics::kStrict).deleted.size(), 1U);
}

TEST_F(RolloutRules, NothingIsInstalledOnAClusterThatLeaves) {
  put_declaration(progressive(1));
  put_placement({{"c1", "c2"}});
  Json leaves = *objects.get(managed_clusters(), {}, "c2");
  leaves["metadata"]["deletionTimestamp"] = "2026-11-23T11:59:00Z";
  objects.put(leaves);
  EXPECT_EQ(install_addon(objects, "a", Semantics::kUpstream).changed.size(), 2U);
  const Pass pass = install_addon(objects, "a", Semantics::kStrict);
  ASSERT_EQ(pass.changed.size(), 1U);
  EXPECT_EQ(namespace_of(pass.changed[0]), "c1");
  EXPECT_TRUE(pass.errors.empty());
}

TEST_F(RolloutRules, AnAddOnKeepsTheAnnotationsThatAreItsOwn) {
  put_declaration(progressive(1));
  put_placement({{"c1"}});
  put_addon("c1");
  Json object = addon("c1");
  for (const char* key : {"values", "v1alpha1-install-namespace", "of-an-earlier-cluster"}) {
    object["metadata"]["annotations"][std::string("addon.open-cluster-management.io/") + key] = "x";
  }
  objects.put(object);
  take(sync_annotations(objects, "c1", Semantics::kStrict));
  EXPECT_EQ(annotation_of(addon("c1"), "addon.open-cluster-management.io/values"), "x");
  EXPECT_EQ(annotation_of(addon("c1"), "addon.open-cluster-management.io/v1alpha1-install-namespace"), "x");
  EXPECT_EQ(annotation_of(addon("c1"), "addon.open-cluster-management.io/of-an-earlier-cluster"), "");
}

TEST_F(RolloutRules, ASecondPassChangesNothing) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1", "c2"}});
  put_addon("c1");
  put_addon("c2");
  roll();
  const RolloutStep again = roll_out_addon(objects, "a", all_known, now + std::chrono::seconds(1));
  EXPECT_TRUE(again.decisions.empty());
  EXPECT_EQ(again.looked_at, (std::set<std::string>{"c1", "c2"}));
  EXPECT_EQ(*again.declaration, declaration());
}

TEST_F(RolloutRules, WhyAPlacementIsNotFollowedIsToldInItsProgression) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_addon("c1");
  const auto progressing = [&] {
    const Json object = declaration();
    const Json& progressions = list_at(object, {"status", "installProgressions"});
    if (progressions.empty() || list_at(progressions[0], {"conditions"}).empty()) return std::string();
    const Json& condition = progressions[0]["conditions"][0];
    return str(condition, {"status"}) + " " + str(condition, {"reason"}) + ": " + str(condition, {"message"});
  };
  const RolloutStep step = roll_out_addon(objects, "a", all_known, now);
  EXPECT_EQ(step.errors.size(), 1U) << "it is tried again";
  EXPECT_TRUE(step.decisions.empty());
  EXPECT_EQ(step.looked_at, std::set<std::string>{"c1"});
  objects.put(*step.declaration);
  EXPECT_EQ(progressing(), "False PlacementNotFollowed: there is no placement ns/p");
  put_placement({{"c1"}});
  roll();
  EXPECT_EQ(configured("c1"), "True: Configurations configured");
  EXPECT_TRUE(progressing().starts_with("True Progressing: ")) << progressing();
}

TEST_F(RolloutRules, OfAnAddOnThatManagesItselfOnlyTheDefaultsAreTold) {
  put_config("base", "one");
  put_declaration(progressive(1));
  put_placement({{"c1"}});
  put_addon("c1");
  Json own = declaration();
  own["metadata"]["annotations"]["addon.open-cluster-management.io/lifecycle"] = "self";
  own["status"]["installProgressions"] = Json::array({Json{{"namespace", "ns"}, {"name", "theirs"}}});
  objects.put(own);
  roll();
  const Json told = declaration()["status"];
  ASSERT_EQ(list_at(told, {"defaultConfigReferences"}).size(), 1U);
  const Json reference = told["defaultConfigReferences"][0];
  EXPECT_EQ(str(reference, {"desiredConfig", "name"}), "base");
  EXPECT_EQ(str(reference, {"desiredConfig", "specHash"}), "") << "its manager tells";
  EXPECT_EQ(str(told["installProgressions"][0], {"name"}), "theirs");
  EXPECT_EQ(hash_in("c1"), "");
  EXPECT_FALSE(roll_out_addon(objects, "a", all_known, now).declaration);

  own = declaration();
  own["spec"]["defaultConfigs"].push_back(
      Json{{"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"name", "__reserved_no_default__"}});
  objects.put(own);
  roll();
  EXPECT_EQ(str(declaration()["status"]["defaultConfigReferences"][0], {"desiredConfig", "specHash"}), live("base"))
      << "an add-on that the hub deploys";
}

}  // namespace
}  // namespace fleetadm::addon
