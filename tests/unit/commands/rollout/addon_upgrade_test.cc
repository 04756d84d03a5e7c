// addon upgrade against a hub in memory: what it writes, what it refuses, and what its plan shows.
#include <gtest/gtest.h>

#include "commands/rollout/rollout.h"
#include "core/addon/rules/rollout_revisions.h"
#include "tests/support/addon_rollouts.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

class AddonUpgrades : public testing::Test {
 protected:
  AddonUpgrades() : hub_({"c1", "c2", "c3"}) {
    register_rollout(registry_);
    put_template("hello-1", {"a", "b"});
    put_template("hello-2", {"a"});
    put_template("hello-3", {"a", "b", "c"});
    Json changed = hub_.declaration();
    changed["spec"]["defaultConfigs"] = Json::array({template_entry("hello-1")});
    hub_.api->put(api::cluster_management_addons_v1beta1(), changed);
    hub_.finish();
  }
  static Json template_entry(const std::string& name) {
    return {{"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"name", name}};
  }
  void put_template(const std::string& name, const std::vector<std::string>& maps, const std::string& addon = "hello") {
    Json manifests = Json::array();
    for (const std::string& one : maps)
      manifests.push_back({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", one}, {"namespace", "x"}}}});
    hub_.api->put(api::addon_templates(),
                  {{"apiVersion", api::addon_templates().api_version()},
                   {"kind", "AddOnTemplate"},
                   {"metadata", {{"name", name}}},
                   {"spec", {{"addonName", addon}, {"agentSpec", {{"workload", {{"manifests", manifests}}}}}}}});
  }
  Result<Report> upgrade(const Flags& flags) {
    return testkit::run_command(registry_, "addon upgrade", context_, flags, {"hello"});
  }

  testkit::AddonRolloutHub hub_;
  testkit::FakeContext context_{hub_.api->client()};
  testkit::TemporaryFolder folder_{"addon-upgrades"};
  Registry registry_;
};

TEST_F(AddonUpgrades, AnotherTemplateIsRolledOutByTheStrategyThatIsAskedFor) {
  const auto report = upgrade({{"template", "hello-3"}, {"max-concurrency", "2"}, {"max-failures", "1"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines.at(0), "clustermanagementaddon hello upgraded");
  EXPECT_EQ(report->lines.at(1), "default addontemplates hello-1 -> hello-3");
  const Json declaration = hub_.declaration();
  const Json& strategy = object_at(list_at(declaration, {"spec", "installStrategy", "placements"})[0], {"rolloutStrategy"});
  EXPECT_EQ(num(strategy, {"progressive", "maxConcurrency"}), 2);
  EXPECT_EQ(num(strategy, {"progressive", "maxFailures"}), 1);
  hub_.pass();
  EXPECT_EQ(hub_.config_on("c2"), "hello-3");
  EXPECT_EQ(hub_.config_on("c3"), "hello-1");
  EXPECT_EQ(addon::addon_revisions(declaration).size(), 2U);
  EXPECT_EQ(upgrade({{"template", "hello-3"}})->lines.at(0), "clustermanagementaddon hello already has what is asked for");
}

TEST_F(AddonUpgrades, OfOnePlacementTheOthersKeepTheDefault) {
  const auto report = upgrade({{"template", "hello-3"}, {"placement", "apps/all"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines.at(1), "placement apps/all: addontemplates none -> hello-3");
  EXPECT_EQ(hub_.default_config(), "hello-1");
  const auto hidden = upgrade({{"template", "hello-2"}, {"allow-removals", "true"}});
  ASSERT_TRUE(hidden) << hidden.error().message;
  EXPECT_NE(hidden->notes.at(0).find("Placement apps/all has its own addontemplates"), std::string::npos) << hidden->notes.at(0);
}

TEST_F(AddonUpgrades, ATemplateThatTakesObjectsFromEveryClusterIsAskedAbout) {
  const auto refused = upgrade({{"template", "hello-2"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "RemovalsNotAllowed");
  EXPECT_NE(refused.error().message.find("delete 3 objects on 3 of 3 clusters"), std::string::npos) << refused.error().message;
  EXPECT_EQ(hub_.default_config(), "hello-1");
  const auto planned = upgrade({{"template", "hello-2"}, {"plan", "true"}});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(num(planned->data, {"removals", "objects"}), 3);
  EXPECT_EQ(planned->table->rows.size(), 3U);
  EXPECT_EQ(planned->table->rows[2][0], "3") << "one cluster after the other";
  EXPECT_EQ(hub_.default_config(), "hello-1");
  ASSERT_TRUE(upgrade({{"template", "hello-2"}, {"allow-removals", "true"}}));
  EXPECT_EQ(hub_.default_config(), "hello-2");
}

TEST_F(AddonUpgrades, ManifestsBecomeTheNextTemplateWithTheRegistrationOfThePresentOne) {
  Json present = *hub_.api->get(api::addon_templates(), "", "hello-3");
  present["metadata"]["name"] = "hello-0.9";
  present["spec"]["registration"] = Json::array({{{"type", "KubeClient"}}});
  hub_.api->put(api::addon_templates(), present);
  ASSERT_TRUE(upgrade({{"template", "hello-0.9"}}));
  const std::string file = folder_.write("agent.json", dump_json(present["spec"]["agentSpec"]["workload"]["manifests"][0]));
  const auto report = upgrade({{"filename", file}, {"allow-removals", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines.at(0), "addontemplate hello-0.10 created");
  EXPECT_EQ(hub_.default_config(), "hello-0.10");
  const Json made = hub_.api->get(api::addon_templates(), "", "hello-0.10").value_or(Json());
  EXPECT_EQ(list_at(made, {"spec", "registration"}).size(), 1U);
  EXPECT_EQ(list_at(made, {"spec", "agentSpec", "workload", "manifests"}).size(), 1U);
  EXPECT_EQ(upgrade({{"filename", file}, {"version", "3"}}).error().category, Category::kConflict) << "it differs";
  EXPECT_EQ(upgrade({{"filename", file}, {"template", "hello-3"}}).error().category, Category::kUsage);
}

TEST_F(AddonUpgrades, WhatCannotBeRenderedIsRefused) {
  Json broken = *hub_.api->get(api::addon_templates(), "", "hello-3");
  broken["metadata"]["name"] = "broken-1";
  broken["spec"]["agentSpec"]["workload"]["manifests"][0]["data"] = {{"a", "{{NOTHING"}};
  hub_.api->put(api::addon_templates(), broken);
  const auto refused = upgrade({{"template", "broken-1"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("cannot be rendered"), std::string::npos) << refused.error().message;
  EXPECT_EQ(hub_.default_config(), "hello-1");
  EXPECT_TRUE(upgrade({{"template", "broken-1"}, {"plan", "true"}}));
}

TEST_F(AddonUpgrades, WhatIsWrongIsSaidBeforeAnythingIsWritten) {
  put_template("other-1", {}, "other");
  EXPECT_EQ(upgrade({{"template", "hello-9"}}).error().category, Category::kNotFound);
  EXPECT_EQ(upgrade({{"template", "other-1"}}).error().category, Category::kConflict);
  EXPECT_EQ(upgrade({{"config", "apps/none"}}).error().category, Category::kNotFound);
  EXPECT_EQ(upgrade({{"template", "hello-3"}, {"placement", "apps/none"}}).error().category, Category::kNotFound);
  EXPECT_EQ(upgrade({{"template", "hello-3"}, {"first", "canary"}}).error().category, Category::kNotFound);
  EXPECT_EQ(upgrade({}).error().category, Category::kUsage);
  EXPECT_EQ(hub_.default_config(), "hello-1");
}

}  // namespace
}  // namespace fleetadm::commands
