// The deploy controllers with the hub's own caches and writer: what wakes them.
#include <gtest/gtest.h>

#include "core/addon/hub/addon_controllers.h"
#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"
#include "tests/support/killable.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::addon {
namespace {

Json addon_template(const std::string& value) {
  Json made{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"}, {"kind", "AddOnTemplate"}};
  made["metadata"] = Json{{"name", "t1"}};
  Json manifest{{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  manifest["metadata"] = Json{{"name", "cm"}, {"namespace", "agents"}};
  manifest["data"] = Json::object({{"cluster", "{{CLUSTER_NAME}}"}, {"value", value}});
  made["spec"]["addonName"] = "hello";
  made["spec"]["agentSpec"]["workload"]["manifests"] = Json::array({manifest});
  return made;
}

class AddonDeployLive : public testing::Test {
 protected:
  void SetUp() override {
    api->put(api::managed_clusters(), Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                           {"kind", "ManagedCluster"},
                                           {"metadata", Json::object({{"name", "c1"}})}});
    Json declaration{{"apiVersion", "addon.open-cluster-management.io/v1beta1"}, {"kind", "ClusterManagementAddOn"}};
    declaration["metadata"] = Json{{"name", "hello"}};
    declaration["metadata"]["annotations"] = Json::object({{std::string(kLifecycleAnnotation), "self"}});
    declaration["spec"]["defaultConfigs"] =
        Json::array({Json{{"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}, {"name", "t1"}}});
    api->put(api::cluster_management_addons_v1beta1(), declaration);
    api->put(api::addon_templates(), addon_template("1"));
    start();
  }

  /// Begins a new life of the hub.
  void start() {
    hub.start([this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
      const kube::Client client = api->client(gate);
      const AddonHub addons{std::make_shared<CachedObjects>(manager, client), std::make_shared<PassWriter>(client),
                            Clock::system()};
      add_installation_controllers(manager, addons);
      add_cluster_addon_controllers(manager, client, addons);
    });
  }

  void configure(const Json& with) {
    Json addon = api->get(api::managed_cluster_addons_v1beta1(), "c1", "hello").value_or(Json::object());
    addon["apiVersion"] = "addon.open-cluster-management.io/v1beta1";
    addon["kind"] = "ManagedClusterAddOn";
    at_or_make(addon, {"metadata", "name"}) = "hello";
    at_or_make(addon, {"metadata", "namespace"}) = "c1";
    for (const char* type : {"Configured", "RegistrationApplied"})
      controller::set_condition(at_or_make(addon, {"status", "conditions"}), type, "True", "Test", "", Instant{});
    Json reference{{"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}};
    reference["desiredConfig"] = Json{{"name", "t1"}, {"specHash", config_spec_hash(with)}};
    at_or_make(addon, {"status", "configReferences"}) = Json::array({reference});
    api->put(api::managed_cluster_addons_v1beta1(), addon);
  }
  Json work() const { return api->get(api::manifest_works(), "c1", "addon-hello-deploy-0").value_or(Json()); }
  std::string deployed() const {
    const Json now = work();
    const Json& manifests = list_at(now, {"spec", "workload", "manifests"});
    return manifests.empty() ? "" : str(manifests[0], {"data", "cluster"}) + " " + str(manifests[0], {"data", "value"});
  }
  bool addon_says(std::string_view type, std::string_view reason) const {
    const Json addon = api->get(api::managed_cluster_addons_v1beta1(), "c1", "hello").value_or(Json());
    const Json* condition = controller::find_condition(addon, type);
    return condition != nullptr && str(*condition, {"reason"}) == reason;
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  testkit::Killable hub;
};

TEST_F(AddonDeployLive, AnAddonIsDeployedJudgedAndUpgraded) {
  configure(addon_template("1"));
  ASSERT_TRUE(testkit::eventually([&] { return deployed() == "c1 1"; }));
  Json applied = work();
  for (const char* type : {"Applied", "Available"})
    controller::set_condition(at_or_make(applied, {"status", "conditions"}), type, "True", "Test", "", Instant{});
  api->put(api::manifest_works(), applied);
  ASSERT_TRUE(testkit::eventually([&] { return addon_says("Available", "ProbeAvailable"); }));
  EXPECT_TRUE(addon_says("ManifestApplied", "AddonManifestApplied"));
  EXPECT_TRUE(testkit::eventually([&] {
    const Json declaration = *api->get(api::cluster_management_addons_v1beta1(), {}, "hello");
    return annotation_of(declaration, kLifecycleAnnotation).empty();
  }));

  // Whichever is seen first, the configuration that was decided or the template that has it: both are waited for.
  configure(addon_template("2"));
  EXPECT_EQ(deployed(), "c1 1");
  api->put(api::addon_templates(), addon_template("2"));
  ASSERT_TRUE(testkit::eventually([&] { return deployed() == "c1 2"; }));
  api->put(api::addon_templates(), addon_template("3"));
  configure(addon_template("3"));
  ASSERT_TRUE(testkit::eventually([&] { return deployed() == "c1 3"; }));
}

TEST_F(AddonDeployLive, ADeletedWorkIsMadeAgain) {
  configure(addon_template("1"));
  ASSERT_TRUE(testkit::eventually([&] { return !work().is_null(); }));
  start();
  const std::string uid = uid_of(work());
  api->erase(api::manifest_works(), "c1", "addon-hello-deploy-0");
  EXPECT_TRUE(testkit::eventually([&] { return !work().is_null() && uid_of(work()) != uid; }));
}

TEST_F(AddonDeployLive, AHostingClusterThatComesLaterIsSeen) {
  configure(addon_template("1"));
  Json addon = *api->get(api::managed_cluster_addons_v1beta1(), "c1", "hello");
  at_or_make(addon, {"metadata", "annotations", kHostingClusterAnnotation}) = "host";
  api->put(api::managed_cluster_addons_v1beta1(), addon);
  ASSERT_TRUE(testkit::eventually([&] { return addon_says("HostingClusterValidity", "HostingClusterInvalid"); }));
  api->put(api::managed_clusters(), Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                         {"kind", "ManagedCluster"},
                                         {"metadata", Json::object({{"name", "host"}})}});
  EXPECT_TRUE(testkit::eventually([&] { return addon_says("HostingClusterValidity", "HostingClusterValid"); }));
}

}  // namespace
}  // namespace fleetadm::addon
