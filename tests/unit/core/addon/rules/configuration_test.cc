// Where the hub configures and rolls out add-ons otherwise than upstream.
#include "core/addon/rules/configuration.h"

#include <gtest/gtest.h>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/installation.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

using rollout::Semantics;

const Instant kStart = *parse_time("2026-11-23T12:00:00Z");
constexpr const char* kAddonVersion = "addon.open-cluster-management.io/v1beta1";

bool all_known(const GroupResource&) { return true; }

/// A hub with the add-on "a", whose default configuration is ns/base, and the placement ns/p over some clusters.
struct RolloutRules : testing::Test {
  MemoryObjects objects;
  Instant now = kStart;

  void put_config(const std::string& name, const std::string& value) {
    objects.put(Json{{"apiVersion", kAddonVersion},
                     {"kind", "AddOnDeploymentConfig"},
                     {"metadata", {{"name", name}, {"namespace", "ns"}, {"generation", 1}}},
                     {"spec", {{"agentInstallNamespace", value}}}});
  }
  static Json config(const std::string& name) {
    return Json{{"group", "addon.open-cluster-management.io"},
                {"resource", "addondeploymentconfigs"},
                {"namespace", "ns"},
                {"name", name}};
  }
  void put_declaration(const Json& strategy, const std::string& default_config = "base") {
    objects.put(
        Json{{"apiVersion", kAddonVersion},
             {"kind", "ClusterManagementAddOn"},
             {"metadata", {{"name", "a"}, {"uid", "u"}}},
             {"spec",
              {{"defaultConfigs", Json::array({config(default_config)})},
               {"installStrategy",
                {{"type", "Placements"},
                 {"placements", Json::array({Json{{"name", "p"}, {"namespace", "ns"}, {"rolloutStrategy", strategy}}})}}}}}});
  }
  void put_placement(const std::vector<std::vector<std::string>>& groups, const std::string& name = "p",
                     const Json& status = Json::object()) {
    objects.put(Json{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                     {"kind", "Placement"},
                     {"metadata", {{"name", name}, {"namespace", "ns"}}},
                     {"status", status}});
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Json decision{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                    {"kind", "PlacementDecision"},
                    {"metadata", {{"name", name + "-" + std::to_string(i)}, {"namespace", "ns"}}}};
      decision["metadata"]["labels"] = {{"cluster.open-cluster-management.io/placement", name},
                                        {"cluster.open-cluster-management.io/decision-group-index", std::to_string(i)},
                                        {"cluster.open-cluster-management.io/decision-group-name", ""}};
      for (const std::string& cluster : groups[i]) {
        at_or_make(decision, {"status", "decisions"}).push_back(Json{{"clusterName", cluster}});
        objects.put(Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                         {"kind", "ManagedCluster"},
                         {"metadata", {{"name", cluster}}}});
      }
      objects.put(decision);
    }
  }
  void put_addon(const std::string& cluster, const Json& spec = Json::object()) {
    objects.put(Json{{"apiVersion", kAddonVersion},
                     {"kind", "ManagedClusterAddOn"},
                     {"metadata", {{"name", "a"}, {"namespace", cluster}}},
                     {"spec", spec}});
  }
  void take(const Pass& pass) {
    for (const Json& object : pass.changed) objects.put(object);
    for (const Error& error : pass.errors) ADD_FAILURE() << error.message;
  }
  void roll() { take(roll_out_addon(objects, "a", all_known, now)); }
  Json addon(const std::string& cluster) const { return *objects.get(managed_cluster_addons(), cluster, "a"); }
  Json declaration() const { return *objects.get(cluster_management_addons(), {}, "a"); }
  /// The hash that the add-on of a cluster is to have of its first configuration; empty: it is not configured.
  std::string hash_in(const std::string& cluster) const {
    const Json object = addon(cluster);
    const Json& references = list_at(object, {"status", "configReferences"});
    return references.empty() ? std::string() : str(references[0], {"desiredConfig", "specHash"});
  }
  std::string live(const std::string& name) const {
    return config_spec_hash(*objects.get(addon_deployment_configs(), "ns", name));
  }
  /// The agent of a cluster has brought about what is desired.
  void complete(const std::string& cluster) {
    Json object = addon(cluster);
    for (Json& reference : object["status"]["configReferences"])
      reference["lastAppliedConfig"] = Json(reference["desiredConfig"]);
    controller::set_condition(object["status"]["conditions"], "Progressing", "False", "Completed", "", now);
    objects.put(object);
  }
  std::string configured(const std::string& cluster) const {
    const Json object = addon(cluster);
    const Json* condition = controller::find_condition(object, "Configured");
    return condition == nullptr ? "" : str(*condition, {"status"}) + ": " + str(*condition, {"message"});
  }
  std::string progress() const {
    const Json object = declaration();
    const Json& progressions = list_at(object, {"status", "installProgressions"});
    if (progressions.empty() || list_at(progressions[0], {"conditions"}).empty()) return {};
    return str(progressions[0]["conditions"][0], {"message"});
  }
};

Json progressive(int most) {
  return Json{{"type", "Progressive"}, {"progressive", {{"maxConcurrency", most}, {"progressDeadline", "5m"}}}};
}

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
  const Pass upstream = configure_addons(objects, "a", all_known, now, Semantics::kUpstream);
  EXPECT_EQ(upstream.changed.size(), 3U) << "upstream configures both at once, and tells it in the declaration";
  take(configure_addons(objects, "a", all_known, now, Semantics::kStrict));
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
  const Pass again = roll_out_addon(objects, "a", all_known, now + std::chrono::seconds(1));
  for (const Json& object : again.changed) {
    EXPECT_EQ(object, *objects.get(type_of(object), namespace_of(object), name_of(object)));
  }
}

}  // namespace
}  // namespace fleetadm::addon
