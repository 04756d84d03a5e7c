// Where each cluster is in an add-on's roll-out, told by the rules that roll it out.
#include "core/addon/rules/rollout_standing.h"

#include <gtest/gtest.h>

#include "tests/unit/core/addon/rules/rollout_world.h"

namespace fleetadm::addon {
namespace {

struct StandingRules : RolloutRules {
  Result<RolloutStanding> standing() const { return rollout_standing(objects, "a", all_known, now); }
  /// "cluster phase" of each, in the order told.
  std::string phases() const {
    const auto found = standing();
    if (!found) return found.error().message;
    std::string text;
    for (const ClusterStanding& one : found->clusters)
      text += (text.empty() ? "" : ", ") + one.cluster + " " + std::string(work::to_string(one.phase));
    return text;
  }
  std::string why(const std::string& cluster) const {
    const auto found = standing();
    if (!found) return found.error().message;
    for (const ClusterStanding& one : found->clusters) {
      if (one.cluster == cluster) return one.why;
    }
    return "not told";
  }
  /// Three clusters, one at a time, with a deadline of five minutes.
  void put_three() {
    put_config("base", "one");
    put_declaration(progressive(1));
    put_placement({{"c1", "c2", "c3"}});
    for (const char* cluster : {"c1", "c2", "c3"}) put_addon(cluster);
  }
};

TEST_F(StandingRules, EachClusterHasThePhaseOfTheHubsNextPass) {
  put_three();
  EXPECT_EQ(phases(), "c1 Beginning, c2 Waiting, c3 Waiting") << "before the hub has written anything";
  EXPECT_EQ(why("c2"), "its turn has not come");
  roll();
  EXPECT_EQ(phases(), "c1 Progressing, c2 Waiting, c3 Waiting");
  EXPECT_EQ(why("c1"), "nothing is reported yet");
  complete("c1");
  EXPECT_EQ(phases(), "c1 Done, c2 Beginning, c3 Waiting");
  for (const char* cluster : {"c2", "c3"}) {
    roll();
    complete(cluster);
  }
  EXPECT_EQ(phases(), "c1 Done, c2 Done, c3 Done");
  EXPECT_EQ(why("c1"), "");
}

TEST_F(StandingRules, AChangedConfigurationIsSeenBeforeTheHubHasWrittenIt) {
  put_three();
  for (const char* cluster : {"c1", "c2", "c3"}) {
    roll();
    complete(cluster);
  }
  put_config("base", "two");
  EXPECT_EQ(phases(), "c1 Beginning, c2 Waiting, c3 Waiting");
}

TEST_F(StandingRules, PastTheDeadlineNothingMoreIsStarted) {
  put_three();
  roll();
  now += std::chrono::minutes(6);
  EXPECT_EQ(phases(), "c1 TimedOut, c2 Waiting, c3 Waiting");
  EXPECT_EQ(why("c2"), "more clusters failed than the strategy tolerates");
  ASSERT_TRUE(standing());
  EXPECT_TRUE(standing()->breach);
}

TEST_F(StandingRules, TellsTheDeadlineAndWhatTheAddonReports) {
  put_three();
  roll();
  Json object = addon("c1");
  controller::set_condition(object["status"]["conditions"], "Progressing", "True", "Progressing", "progressing... no addon works",
                            now);
  objects.put(object);
  const auto found = standing();
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->clusters[0].until);
  EXPECT_EQ(*found->clusters[0].until, now + std::chrono::minutes(5));
  EXPECT_EQ(found->clusters[0].why, "progressing... no addon works");
  EXPECT_EQ(found->clusters[0].placement, "ns/p");
  ASSERT_TRUE(found->clusters[0].group);
}

TEST_F(StandingRules, AConfigurationThatDoesNotExistIsNamed) {
  put_three();
  objects.remove(addon_deployment_configs(), "ns", "base");
  const auto found = standing();
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->missing);
  EXPECT_EQ(found->missing->name, "base");
  EXPECT_EQ(why("c1"), "configuration addondeploymentconfigs.addon.open-cluster-management.io ns/base does not exist");
}

TEST_F(StandingRules, ASelectedClusterWithoutTheAddonIsTold) {
  put_three();
  objects.remove(managed_cluster_addons(), "c2", "a");
  EXPECT_EQ(why("c2"), "the hub has not created the add-on there");
  objects.remove(managed_clusters(), {}, "c2");
  EXPECT_EQ(why("c2"), "there is no such cluster");
}

TEST_F(StandingRules, WhatNoPlacementSelectsIsToBeRemoved) {
  put_three();
  put_addon("c9");
  EXPECT_EQ(phases(), "c1 Beginning, c2 Waiting, c3 Waiting, c9 Skipped");
  EXPECT_EQ(why("c9"), "no placement selects the cluster: the hub removes the add-on there");
}

TEST_F(StandingRules, WithoutPlacementsEveryAddonIsConfiguredAtOnce) {
  put_three();
  Json manual = declaration();
  manual["spec"]["installStrategy"] = {{"type", "Manual"}};
  objects.put(manual);
  EXPECT_EQ(phases(), "c1 Beginning, c2 Beginning, c3 Beginning");
  roll();
  complete("c2");
  EXPECT_EQ(phases(), "c1 Progressing, c2 Done, c3 Progressing");
}

TEST_F(StandingRules, WhatCannotBeJudgedIsAnError) {
  EXPECT_EQ(standing().error().category, Category::kNotFound);
  put_three();
  objects.remove(placements(), "ns", "p");
  EXPECT_EQ(standing().error().message, "there is no placement ns/p");
  Json own = declaration();
  own["metadata"]["annotations"]["addon.open-cluster-management.io/lifecycle"] = "self";
  objects.put(own);
  EXPECT_EQ(standing().error().category, Category::kUnsupported);
}

/// Asking writes nothing: the objects are the same before and after.
TEST_F(StandingRules, LeavesTheObjectsAlone) {
  put_three();
  roll();
  const Json before = declaration();
  ASSERT_TRUE(standing());
  EXPECT_EQ(declaration(), before);
}

}  // namespace
}  // namespace fleetadm::addon
