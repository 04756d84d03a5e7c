// addon config get, set and unset on a hub in memory: where a value is written, and what goes through the rollout.
#include <gtest/gtest.h>

#include "commands/addon/addon.h"
#include "core/addon/rules/earlier_contents.h"
#include "core/addon/rules/rollout_revisions.h"
#include "tests/support/addon_rollouts.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

class AddonConfigs : public testing::Test {
 protected:
  AddonConfigs() : hub_({"c1", "c2", "c3"}) {
    register_addon_config_get(registry_);
    register_addon_config_set(registry_);
    hub_.finish();
  }
  Result<Report> run(const std::string& verb, const Flags& flags, std::vector<std::string> words = {}) {
    words.insert(words.begin(), "hello");
    return testkit::run_command(registry_, "addon config " + verb, context_, flags, words);
  }
  static std::string variable(const Json& config, const std::string& name) {
    for (const Json& one : list_at(config, {"spec", "customizedVariables"})) {
      if (str(one, {"name"}) == name) return str(one, {"value"});
    }
    return "<none>";
  }
  Json addon_on(const std::string& cluster) const {
    return hub_.api->get(api::managed_cluster_addons_v1beta1(), cluster, "hello").value_or(Json());
  }

  testkit::AddonRolloutHub hub_;
  testkit::FakeContext context_{hub_.api->client()};
  Registry registry_;
};

TEST_F(AddonConfigs, TheDefaultIsEditedInPlaceAndKeepsWhatItWas) {
  const auto set = run("set", {{"http-proxy", "http://p"}}, {"LEVEL=debug"});
  ASSERT_TRUE(set) << set.error().message;
  const Json config = hub_.config("base");
  EXPECT_EQ(variable(config, "LEVEL"), "debug");
  EXPECT_EQ(str(config, {"spec", "agentInstallNamespace"}), "one") << "what was there stays";
  EXPECT_FALSE(annotation_of(config, addon::kEarlierAnnotation).empty());
  ASSERT_EQ(addon::addon_revisions(hub_.declaration()).size(), 2U);
  EXPECT_NE(set->notes.at(0).find("3 clusters change, 1 at once"), std::string::npos) << set->notes.at(0);
  hub_.pass();
  EXPECT_EQ(addon::addon_revisions(hub_.declaration()).size(), 2U) << "the hub finds what the command noted";
  EXPECT_EQ(run("set", {}, {"LEVEL=debug"})->lines.at(0), "clustermanagementaddon hello already has that configuration");
}

TEST_F(AddonConfigs, APlacementGetsOneOfItsOwnMadeOfTheDefault) {
  ASSERT_TRUE(run("set", {{"placement", "apps/all"}}, {"LEVEL=debug"}));
  EXPECT_EQ(variable(hub_.config("base"), "LEVEL"), "<none>");
  const Json own = hub_.config("hello-all");
  EXPECT_EQ(variable(own, "LEVEL"), "debug");
  EXPECT_EQ(str(own, {"spec", "agentInstallNamespace"}), "one");
  const auto told = run("get", {{"clusters", "c2"}});
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(str(told->data.at("items")[0], {"config", "name"}), "hello-all");
  ASSERT_TRUE(run("unset", {{"placement", "apps/all"}, {"inherit", "true"}}));
  EXPECT_EQ(str(run("get", {{"clusters", "c2"}})->data.at("items")[0], {"config", "name"}), "base");
}

TEST_F(AddonConfigs, AConfigurationThatSeveralClustersShareIsWrittenOnce) {
  hub_.put_config("shared", "x");
  for (const char* cluster : {"c1", "c2"}) {
    Json addon = addon_on(cluster);
    addon["spec"]["configs"] = Json::array({testkit::AddonRolloutHub::reference("shared")});
    hub_.api->put(api::managed_cluster_addons_v1beta1(), addon);
  }
  hub_.api->forget_calls();
  const auto set = run("set", {{"clusters", "c1,c2,c3"}}, {"LEVEL=debug"});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(variable(hub_.config("shared"), "LEVEL"), "debug");
  EXPECT_EQ(hub_.api->count("patch", "addondeploymentconfigs"), 1);
  const Json own = hub_.api->get(api::addon_deployment_configs(), "c3", "hello").value_or(Json());
  EXPECT_EQ(variable(own, "LEVEL"), "debug");
  EXPECT_EQ(list_at(addon_on("c3"), {"spec", "configs"}).size(), 1U);
  EXPECT_EQ(run("get", {})->data.at("items").size(), 4U) << "the default and three clusters";
}

TEST_F(AddonConfigs, APlanAndWhatIsWrongWriteNothing) {
  hub_.api->forget_calls();
  const auto plan = run("set", {{"plan", "true"}}, {"LEVEL=debug"});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->data.at("clusters").size(), 3U);
  EXPECT_EQ(run("set", {{"placement", "apps/none"}}, {"A=b"}).error().category, Category::kNotFound);
  EXPECT_EQ(run("set", {{"clusters", "c9"}}, {"A=b"}).error().category, Category::kNotFound);
  EXPECT_EQ(run("set", {{"clusters", "c1"}, {"placement", "apps/all"}}, {"A=b"}).error().category, Category::kUsage);
  EXPECT_EQ(run("unset", {}, {"A"}).error().category, Category::kNotFound);
  EXPECT_EQ(run("unset", {{"inherit", "true"}}, {"A"}).error().category, Category::kUsage);
  EXPECT_EQ(hub_.api->count("patch") + hub_.api->count("update"), 0);
}

TEST_F(AddonConfigs, AnotherAddonThatUsesTheSameObjectIsNamed) {
  Json other = hub_.declaration();
  other["metadata"] = {{"name", "other"}};
  other.erase("status");
  hub_.api->put(api::cluster_management_addons_v1beta1(), other);
  const auto set = run("set", {}, {"LEVEL=debug"});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_NE(set->notes.at(0).find("also used by add-on other"), std::string::npos) << set->notes.at(0);
}

}  // namespace
}  // namespace fleetadm::commands
