// Add-ons of members that the hub dials: deployed by their works and judged by what these report. What would have to register
// with the hub is refused, and says why.
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

constexpr std::string_view kDialedAddons = "/apis/addon.open-cluster-management.io/v1alpha1";

class PushAddons : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    ASSERT_NO_FATAL_FAILURE(begin_hub());
    const Ran joined = join("c1", {"--wait=available"});
    ASSERT_EQ(joined.code, 0) << joined.both();
  }
  static void make(const std::string& path, const Json& object) {
    const auto answer = fleet()->hub().create(path, object);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  /// Declares an add-on of one Deployment.
  static void declare(const std::string& name, const Json& container_fields, const Json& registration = nullptr) {
    Json container{{"name", "main"}, {"image", "example.com/app:v1"}};
    container.update(container_fields);
    Json deployment{{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"metadata", {{"name", name}, {"namespace", "default"}}}};
    deployment["spec"]["selector"]["matchLabels"] = {{"app", name}};
    deployment["spec"]["template"]["metadata"]["labels"] = {{"app", name}};
    deployment["spec"]["template"]["spec"]["containers"] = Json::array({std::move(container)});
    Json addon_template{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "AddOnTemplate"}};
    addon_template["metadata"] = {{"name", name + "-v1"}};
    addon_template["spec"]["addonName"] = name;
    addon_template["spec"]["agentSpec"]["workload"]["manifests"] = Json::array({std::move(deployment)});
    if (!registration.is_null()) addon_template["spec"]["registration"] = Json::array({registration});
    ASSERT_NO_FATAL_FAILURE(make(std::string(kDialedAddons) + "/addontemplates", addon_template));
    Json declaration{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "ClusterManagementAddOn"}};
    declaration["metadata"] = {{"name", name}};
    declaration["spec"]["supportedConfigs"] = Json::array({{{"group", "addon.open-cluster-management.io"},
                                                            {"resource", "addontemplates"},
                                                            {"defaultConfig", {{"name", name + "-v1"}}}}});
    ASSERT_NO_FATAL_FAILURE(make(std::string(kDialedAddons) + "/clustermanagementaddons", declaration));
  }
  static Ran enable(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"addon", "enable", "--names", name, "--clusters", "c1", "--context", "hub"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  static std::string addon_path(const std::string& name) {
    return std::string(kDialedAddons) + "/namespaces/c1/managedclusteraddons/" + name;
  }
  static std::string said(const std::string& name, const std::string& type) {
    for (const Json& one : list_at(fleet()->hub().get(addon_path(name)), {"status", "conditions"})) {
      if (str(one, {"type"}) == type) return str(one, {"status"}) + " " + str(one, {"reason"});
    }
    return {};
  }
  static bool becomes(const std::string& name, const std::string& type, const std::string& what) {
    return eventually([&] { return said(name, type) == what; }, seconds(60));
  }
  static Json deployment(const std::string& name) {
    return fleet()->spoke(1).get("/apis/apps/v1/namespaces/default/deployments/" + name);
  }
};

TEST_F(PushAddons, A_IsDeployedByWorksAndJudgedByTheirProbes) {
  ASSERT_NO_FATAL_FAILURE(declare("hello", Json::object()));
  const Ran enabled = enable("hello", {"--wait"});
  ASSERT_EQ(enabled.code, 0) << enabled.both();
  EXPECT_FALSE(deployment("hello").is_null());
  EXPECT_EQ(said("hello", "Available"), "True ProbeAvailable");
  const std::string label = "feature.open-cluster-management.io/addon-hello";
  EXPECT_TRUE(eventually([&] { return label_of(fleet()->hub().get(cluster_path("c1")), label) == "available"; }, seconds(30)));
}

TEST_F(PushAddons, B_PodsThatAreNotReadyAreTold) {
  const Json probe{{"httpGet", {{"path", "/readyz"}, {"port", 9}}}, {"periodSeconds", 1}};
  ASSERT_NO_FATAL_FAILURE(
      declare("limps", {{"image", "example.com/fleetadm:v1"}, {"args", {"version"}}, {"readinessProbe", probe}}));
  ASSERT_EQ(enable("limps").code, 0);
  EXPECT_TRUE(becomes("limps", "Available", "False ProbeUnavailable")) << said("limps", "Available");
}

TEST_F(PushAddons, C_WhatRegistersWithTheHubIsRefused) {
  ASSERT_NO_FATAL_FAILURE(declare("asks", Json::object(), {{"type", "KubeClient"}, {"kubeClient", Json::object()}}));
  ASSERT_EQ(enable("asks").code, 0);
  EXPECT_TRUE(becomes("asks", "RegistrationApplied", "False NoAgent")) << said("asks", "RegistrationApplied");
  std::this_thread::sleep_for(seconds(2));
  EXPECT_TRUE(
      fleet()->hub().get("/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks/addon-asks-deploy-0").is_null());
  EXPECT_TRUE(deployment("asks").is_null());
  const Ran disabled =
      run({"addon", "disable", "--names", "asks", "--clusters", "c1", "--context", "hub", "--yes", "--allow-removals"});
  EXPECT_EQ(disabled.code, 0) << disabled.both();
  EXPECT_TRUE(eventually([] { return fleet()->hub().get(addon_path("asks")).is_null(); }, seconds(30)));
}

TEST_F(PushAddons, D_OneWithALeaseIsJudgedByItsWorks) {
  Json addon{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "ManagedClusterAddOn"}};
  addon["metadata"] = {{"name", "beats"}, {"namespace", "c1"}};
  addon["spec"] = Json::object();
  ASSERT_NO_FATAL_FAILURE(make(std::string(kDialedAddons) + "/namespaces/c1/managedclusteraddons", addon));
  EXPECT_TRUE(becomes("beats", "Available", "Unknown WorkNotFound")) << said("beats", "Available");
  const Json map{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "beats"}, {"namespace", "default"}}}};
  ASSERT_NO_FATAL_FAILURE(make("/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks",
                               {{"apiVersion", "work.open-cluster-management.io/v1"},
                                {"kind", "ManifestWork"},
                                {"metadata",
                                 {{"name", "addon-beats-deploy-0"},
                                  {"namespace", "c1"},
                                  {"labels", {{"open-cluster-management.io/addon-name", "beats"}}}}},
                                {"spec", {{"workload", {{"manifests", Json::array({map})}}}}}}));
  EXPECT_TRUE(becomes("beats", "Available", "True WorkApplied")) << said("beats", "Available");
}

TEST_F(PushAddons, E_DisablingTakesItFromTheCluster) {
  const Ran disabled =
      run({"addon", "disable", "--names", "hello,limps", "--clusters", "c1", "--context", "hub", "--yes", "--allow-removals"});
  EXPECT_EQ(disabled.code, 0) << disabled.both();
  EXPECT_TRUE(eventually([] { return deployment("hello").is_null() && deployment("limps").is_null(); }, seconds(60)));
}

}  // namespace
}  // namespace fleetadm::testkit
