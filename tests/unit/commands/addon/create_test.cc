// addon create and addon render on a hub in memory.
#include <gtest/gtest.h>

#include "commands/addon/addon.h"
#include "core/addon/rules/config_hash.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kAgent =
    R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "ns"},
  "spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "quay.io/x/y:1", "args": ["{{LEVEL}}"]}]}}}})";

class AddonTemplates : public testing::Test {
 protected:
  AddonTemplates() {
    register_addon_create(registry);
    register_addon_render(registry);
    api->put(api::managed_clusters(),
             {{"apiVersion", api::managed_clusters().api_version()}, {"kind", "ManagedCluster"}, {"metadata", {{"name", "c1"}}}});
    agent = folder.write("agent.yaml", kAgent);
  }
  Result<Report> create(Flags flags = {}) {
    flags.emplace_back("filename", agent);
    return testkit::run_command(registry, "addon create", context, flags, {"hello"});
  }
  Result<Report> render() { return testkit::run_command(registry, "addon render", context, {{"cluster", "c1"}}, {"hello"}); }
  Json declaration() const { return api->get(api::cluster_management_addons(), "", "hello").value_or(Json()); }
  Json made(const std::string& name = "hello-0.0.1") const { return api->get(api::addon_templates(), "", name).value_or(Json()); }
  void put_config(const std::string& name, const std::string& level) {
    Json variables = Json::array({{{"name", "LEVEL"}, {"value", level}}});
    api->put(api::addon_deployment_configs(), {{"apiVersion", api::addon_deployment_configs().api_version()},
                                               {"kind", "AddOnDeploymentConfig"},
                                               {"metadata", {{"name", name}, {"namespace", "default"}}},
                                               {"spec", {{"customizedVariables", std::move(variables)}}}});
  }
  static std::string rendered_level(const Report& report) {
    for (const Json& item : list_at(report.data, {"items"})) {
      for (const Json& container : list_at(item, {"spec", "template", "spec", "containers"})) {
        const auto args = string_list_at(container, {"args"});
        return args.empty() ? "" : args.front();
      }
    }
    return "none";
  }
  static bool notes_hold(const Report& report, const std::string& words) {
    for (const std::string& note : report.notes) {
      if (note.find(words) != std::string::npos) return true;
    }
    return false;
  }

  testkit::TemporaryFolder folder;
  std::string agent;
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T10:00:00Z"));
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make(clock);
  Registry registry;
  testkit::FakeContext context{api->client(), clock};
};

TEST_F(AddonTemplates, AnOverwriteThatReachesManyClustersAtOnceIsAskedAbout) {
  ASSERT_TRUE(create());
  for (int i = 0; i < 12; ++i) {
    const std::string cluster = "many" + std::to_string(i);
    api->put(
        api::managed_clusters(),
        {{"apiVersion", api::managed_clusters().api_version()}, {"kind", "ManagedCluster"}, {"metadata", {{"name", cluster}}}});
    api->put(api::managed_cluster_addons(), {{"apiVersion", api::managed_cluster_addons().api_version()},
                                             {"kind", "ManagedClusterAddOn"},
                                             {"metadata", {{"name", "hello"}, {"namespace", cluster}}},
                                             {"spec", Json::object()}});
  }
  const auto refused = create({{"version", "0.0.2"}, {"overwrite", "true"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "ManyClusters");
  EXPECT_TRUE(made("hello-0.0.2").is_null());
  EXPECT_TRUE(create({{"version", "0.0.2"}, {"overwrite", "true"}, {"allow-many", "true"}}));
  EXPECT_FALSE(made("hello-0.0.2").is_null());
}

TEST_F(AddonTemplates, CreateMakesATemplateAndADeclarationThatNamesIt) {
  const auto report = create({{"hub-registration", "true"}, {"cluster-role-bind", "reader"}, {"labels", "a=b"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(str(made(), {"spec", "addonName"}), "hello");
  const Json registration = list_at(made(), {"spec", "registration"}).at(0);
  EXPECT_EQ(str(registration, {"type"}), "KubeClient");
  EXPECT_EQ(str(list_at(registration, {"kubeClient", "hubPermissions"}).at(0), {"currentCluster", "clusterRoleName"}), "reader");
  EXPECT_EQ(str(list_at(declaration(), {"spec", "supportedConfigs"}).at(0), {"defaultConfig", "name"}), "hello-0.0.1");
  EXPECT_EQ(str(declaration(), {"spec", "installStrategy", "type"}), "Manual");
  EXPECT_EQ(label_of(made(), "a"), "b");
  EXPECT_EQ(label_of(declaration(), "a"), "b");
  const auto again = create({{"hub-registration", "true"}, {"cluster-role-bind", "reader"}, {"labels", "a=b"}});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->lines.at(0), "addontemplate hello-0.0.1 unchanged");
  EXPECT_EQ(again->lines.at(1), "clustermanagementaddon hello unchanged");
}

TEST_F(AddonTemplates, OverwriteKeepsWhatOthersDeclared) {
  ASSERT_TRUE(create());
  Json changed = declaration();
  changed["spec"]["installStrategy"] = {{"type", "Placements"},
                                        {"placements", Json::array({{{"name", "all"}, {"namespace", "default"}}})}};
  Json other = {{"group", "addon.open-cluster-management.io"}, {"resource", "addondeploymentconfigs"}};
  changed["spec"]["supportedConfigs"].push_back(other);
  api->put(api::cluster_management_addons(), changed);
  const auto refused = create({{"version", "0.0.2"}, {"overwrite", "true"}});
  ASSERT_FALSE(refused) << "there is no such placement: nobody knows whom it would reach";
  EXPECT_NE(refused.error().hint.find("--allow-many"), std::string::npos) << refused.error().hint;
  const auto report = create({{"version", "0.0.2"}, {"overwrite", "true"}, {"allow-many", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(object_at(declaration(), {"spec", "installStrategy"}), changed["spec"]["installStrategy"]);
  const Json& supported = list_at(declaration(), {"spec", "supportedConfigs"});
  ASSERT_EQ(supported.size(), 2U);
  EXPECT_EQ(str(supported.at(0), {"defaultConfig", "name"}), "hello-0.0.2");
  EXPECT_EQ(supported.at(1), other);
}

TEST_F(AddonTemplates, AConflictWritesNeitherObject) {
  ASSERT_TRUE(create());
  api->forget_calls();
  const auto refused = create({{"version", "0.0.2"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kConflict);
  EXPECT_EQ(api->writes().size(), 0U);
  EXPECT_TRUE(made("hello-0.0.2").is_null());
}

TEST_F(AddonTemplates, WhatTheServerWouldRefuseIsNotSent) {
  agent =
      folder.write("bad.yaml", R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "{{"}})");
  EXPECT_FALSE(create());
  EXPECT_EQ(api->writes().size(), 0U);
}

TEST_F(AddonTemplates, RenderTakesTheDefaultsWhereTheAddonIsNotEnabled) {
  ASSERT_TRUE(create());
  put_config("quiet", "info");
  Json declared = declaration();
  declared["spec"]["supportedConfigs"].push_back({{"group", "addon.open-cluster-management.io"},
                                                  {"resource", "addondeploymentconfigs"},
                                                  {"defaultConfig", {{"name", "quiet"}, {"namespace", "default"}}}});
  api->put(api::cluster_management_addons(), declared);
  auto report = render();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(rendered_level(*report), "info");
  EXPECT_TRUE(notes_hold(*report, "is not enabled on cluster c1 yet"));

  // The cluster's own configuration comes before the default.
  put_config("loud", "debug");
  Json own = {{"group", "addon.open-cluster-management.io"},
              {"resource", "addondeploymentconfigs"},
              {"name", "loud"},
              {"namespace", "default"}};
  api->put(api::managed_cluster_addons(), {{"apiVersion", api::managed_cluster_addons().api_version()},
                                           {"kind", "ManagedClusterAddOn"},
                                           {"metadata", {{"name", "hello"}, {"namespace", "c1"}}},
                                           {"spec", {{"configs", Json::array({std::move(own)})}}}});
  report = render();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(rendered_level(*report), "debug");
  EXPECT_TRUE(notes_hold(*report, "is not configured on cluster c1 yet"));
}

TEST_F(AddonTemplates, RenderTakesWhatWasDecidedAndSaysWhatHasChangedSince) {
  ASSERT_TRUE(create());
  Json reference = {{"group", "addon.open-cluster-management.io"},
                    {"resource", "addontemplates"},
                    {"desiredConfig", {{"name", "hello-0.0.1"}, {"specHash", addon::config_spec_hash(made())}}}};
  api->put(api::managed_cluster_addons(), {{"apiVersion", api::managed_cluster_addons().api_version()},
                                           {"kind", "ManagedClusterAddOn"},
                                           {"metadata", {{"name", "hello"}, {"namespace", "c1"}}},
                                           {"status", {{"configReferences", Json::array({std::move(reference)})}}}});
  auto report = render();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->notes.empty());
  Json edited = made();
  edited["spec"]["agentSpec"]["workload"]["manifests"][0]["metadata"]["name"] = "other";
  api->put(api::addon_templates(), edited);
  report = render();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(name_of(list_at(report->data, {"items"}).at(0)), "other");
  EXPECT_TRUE(notes_hold(*report, "AddOnTemplate hello-0.0.1 has changed since it was decided for the cluster"));
}

TEST_F(AddonTemplates, RenderSaysWhoDeploysAnAddonWithoutATemplate) {
  api->put(api::cluster_management_addons(), {{"apiVersion", api::cluster_management_addons().api_version()},
                                              {"kind", "ClusterManagementAddOn"},
                                              {"metadata", {{"name", "hello"}}},
                                              {"spec", Json::object()}});
  const auto report = render();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "add-on \"hello\" has no AddOnTemplate: its own manager deploys it");
}

}  // namespace
}  // namespace fleetadm::commands
