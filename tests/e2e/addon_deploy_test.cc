// An add-on that runs on two clusters: deployed, judged, and removed after its hooks have run on both.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kAddonApi = "/apis/addon.open-cluster-management.io/v1alpha1";
constexpr std::string_view kHosted = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/c2/managedclusteraddons/hello";
constexpr std::string_view kOwnConfig = "/api/v1/namespaces/default/configmaps/own";
constexpr std::string_view kHostedConfig = "/api/v1/namespaces/default/configmaps/hosted";

Json manifest(const char* api_version, const char* kind, const char* name, bool on_host) {
  Json made{{"apiVersion", api_version}, {"kind", kind}};
  made["metadata"] = {{"name", name}, {"namespace", "default"}, {"annotations", Json::object()}};
  if (on_host) made["metadata"]["annotations"]["addon.open-cluster-management.io/hosted-manifest-location"] = "hosting";
  return made;
}

Json hook(const char* name, bool on_host) {
  Json made = manifest("batch/v1", "Job", name, on_host);
  made["metadata"]["annotations"]["addon.open-cluster-management.io/addon-pre-delete"] = "";
  const Json container{{"name", "bye"}, {"image", "example.com/bye:1"}};
  made["spec"]["template"]["spec"] = {{"restartPolicy", "Never"}, {"containers", Json::array({container})}};
  return made;
}

class AddonDeploy : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, true));
    const Ran init = fleet()->run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    for (const char* cluster : {"c1", "c2"}) {
      auto args = join_args(init.json());
      std::replace(args.begin(), args.end(), std::string("c1"), std::string(cluster));
      args.emplace_back("--wait");
      const Ran join = fleet()->run(args);
      ASSERT_EQ(join.code, 0) << join.both();
    }
    const Ran accept = fleet()->run({"accept", "--context", "hub", "c1", "c2", "--wait=available", "--yes"});
    ASSERT_EQ(accept.code, 0) << accept.both();
  }

  static void must_create(const std::string& path, const Json& object) {
    const auto answer = fleet()->hub().create(path, object);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  static bool has(KubeServer& server, std::string_view path) { return !name_of(server.get(path)).empty(); }
  /// Works of the add-on, all over the hub.
  static std::set<std::string> works() {
    std::set<std::string> names;
    const Json list = fleet()->hub().get(
        "/apis/work.open-cluster-management.io/v1/manifestworks?labelSelector=open-cluster-management.io%2Faddon-name%3Dhello");
    for (const Json& work : list_at(list, {"items"})) names.insert(namespace_of(work) + "/" + name_of(work));
    return names;
  }
  static bool created_job(KubeServer& server, std::uintmax_t since, const std::string& name) {
    const std::vector<AuditEntry> writes = writes_since(server, since);
    return std::any_of(writes.begin(), writes.end(),
                       [&](const AuditEntry& one) { return one.resource == "jobs" && one.name == name; });
  }
};

TEST_F(AddonDeploy, A_RunsOnTheClusterThatHostsIt) {
  Json addon_template{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "AddOnTemplate"}};
  addon_template["metadata"] = {{"name", "hello-v1"}};
  addon_template["spec"]["addonName"] = "hello";
  addon_template["spec"]["agentSpec"]["workload"]["manifests"] =
      Json::array({manifest("v1", "ConfigMap", "own", false), manifest("v1", "ConfigMap", "hosted", true), hook("bye", false),
                   hook("bye-host", true)});
  ASSERT_NO_FATAL_FAILURE(must_create(std::string(kAddonApi) + "/addontemplates", addon_template));
  Json declaration{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "ClusterManagementAddOn"}};
  declaration["metadata"] = {{"name", "hello"}};
  const Json supported{
      {"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"defaultConfig", {{"name", "hello-v1"}}}};
  declaration["spec"]["supportedConfigs"] = Json::array({supported});
  ASSERT_NO_FATAL_FAILURE(must_create(std::string(kAddonApi) + "/clustermanagementaddons", declaration));
  Json addon{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "ManagedClusterAddOn"}};
  addon["metadata"] = {{"name", "hello"}, {"namespace", "c2"}};
  addon["metadata"]["annotations"] = {{"addon.open-cluster-management.io/hosting-cluster-name", "c1"}};
  addon["spec"] = Json::object();
  ASSERT_NO_FATAL_FAILURE(must_create(std::string(kAddonApi) + "/namespaces/c2/managedclusteraddons", addon));

  ASSERT_TRUE(condition_becomes(fleet()->hub(), kHosted, "HostingManifestApplied", "True")) << fleet()->hub().get(kHosted);
  ASSERT_TRUE(condition_becomes(fleet()->hub(), kHosted, "Available", "True")) << fleet()->hub().get(kHosted);
  EXPECT_TRUE(condition_becomes(fleet()->hub(), kHosted, "Progressing", "False")) << fleet()->hub().get(kHosted);
  EXPECT_EQ(works(), (std::set<std::string>{"c1/addon-hello-deploy-hosting-c2-0", "c2/addon-hello-deploy-0"}));
  EXPECT_TRUE(has(fleet()->spoke(1), kHostedConfig));
  EXPECT_FALSE(has(fleet()->spoke(1), kOwnConfig));
  EXPECT_TRUE(has(fleet()->spoke(2), kOwnConfig));
  EXPECT_FALSE(has(fleet()->spoke(2), kHostedConfig));
}

TEST_F(AddonDeploy, B_IsRemovedAfterItsHooksRanOnBothClusters) {
  const std::uintmax_t on_host = fleet()->spoke(1).audit_position();
  const std::uintmax_t on_own = fleet()->spoke(2).audit_position();
  const auto deleted = fleet()->hub().request("DELETE", std::string(kHosted));
  ASSERT_EQ(deleted.status, 200) << deleted.body;
  ASSERT_TRUE(eventually([] { return !has(fleet()->hub(), kHosted); }, std::chrono::seconds(90))) << fleet()->hub().get(kHosted);
  EXPECT_TRUE(eventually([] { return works().empty(); }, std::chrono::seconds(60)));
  EXPECT_TRUE(eventually([] { return !has(fleet()->spoke(1), kHostedConfig) && !has(fleet()->spoke(2), kOwnConfig); },
                         std::chrono::seconds(60)));
  EXPECT_TRUE(created_job(fleet()->spoke(1), on_host, "bye-host"));
  EXPECT_TRUE(created_job(fleet()->spoke(2), on_own, "bye"));
}

/// The agent of a cluster that is not heard from cannot report on its add-ons: the hub does, and takes it back later.
TEST_F(AddonDeploy, C_IsUnknownWhileItsClusterIsSilent) {
  Json addon_template{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "AddOnTemplate"}};
  addon_template["metadata"] = {{"name", "beat-v1"}};
  addon_template["spec"]["addonName"] = "beat";
  addon_template["spec"]["agentSpec"]["workload"]["manifests"] = Json::array({manifest("v1", "ConfigMap", "beat", false)});
  ASSERT_NO_FATAL_FAILURE(must_create(std::string(kAddonApi) + "/addontemplates", addon_template));
  Json declaration{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "ClusterManagementAddOn"}};
  declaration["metadata"] = {{"name", "beat"}};
  const Json supported{
      {"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"defaultConfig", {{"name", "beat-v1"}}}};
  declaration["spec"]["supportedConfigs"] = Json::array({supported});
  ASSERT_NO_FATAL_FAILURE(must_create(std::string(kAddonApi) + "/clustermanagementaddons", declaration));
  const std::string cluster = std::string(kManagedClusters) + "/c1";
  const auto hurry =
      fleet()->hub().request("PATCH", cluster, R"({"spec": {"leaseDurationSeconds": 1}})", "application/merge-patch+json");
  ASSERT_EQ(hurry.status, 200) << hurry.body;
  ASSERT_NO_FATAL_FAILURE(must_create(std::string(kAddonApi) + "/namespaces/c1/managedclusteraddons",
                                      {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                       {"kind", "ManagedClusterAddOn"},
                                       {"metadata", {{"name", "beat"}, {"namespace", "c1"}}},
                                       {"spec", Json::object()}}));
  const std::string beat = std::string(kAddonApi) + "/namespaces/c1/managedclusteraddons/beat";
  const auto labelled = [&](const std::string& value) {
    return eventually(
        [&] { return label_of(fleet()->hub().get(cluster), "feature.open-cluster-management.io/addon-beat") == value; },
        std::chrono::seconds(60));
  };
  ASSERT_TRUE(condition_becomes(fleet()->hub(), beat, "Available", "True")) << fleet()->hub().get(beat);
  EXPECT_TRUE(labelled("available"));
  fleet()->kill_node(1);
  ASSERT_TRUE(condition_becomes(fleet()->hub(), beat, "Available", "Unknown")) << fleet()->hub().get(cluster);
  EXPECT_NE(dump_json(fleet()->hub().get(beat)).find("ManagedClusterLeaseUpdateStopped"), std::string::npos);
  EXPECT_TRUE(labelled("unreachable"));
  ASSERT_TRUE(fleet()->start_node(1));
  EXPECT_TRUE(condition_becomes(fleet()->hub(), beat, "Available", "True", std::chrono::seconds(90)))
      << fleet()->hub().get(cluster);
  EXPECT_TRUE(labelled("available"));
}

}  // namespace
}  // namespace fleetadm::testkit
