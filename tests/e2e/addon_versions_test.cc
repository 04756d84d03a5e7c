// Both versions of the add-on kinds on a real hub, whose controllers convert them: clients of either version see all objects, and
// without the controllers those of the stored version do.
#include <gtest/gtest.h>

#include "core/addon/rules/conversion.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kStored = "/apis/addon.open-cluster-management.io/v1alpha1";
constexpr std::string_view kServed = "/apis/addon.open-cluster-management.io/v1beta1";
constexpr std::string_view kDefinition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/managedclusteraddons.addon.open-cluster-management.io";
constexpr std::string_view kInstallNamespace = "addon.open-cluster-management.io/v1alpha1-install-namespace";

std::string in(std::string_view version, std::string_view path) { return std::string(version) + std::string(path); }

Json object_of(std::string_view version, const char* kind, const std::string& name, Json spec) {
  Json object{{"apiVersion", std::string(version.substr(std::string_view("/apis/").size()))},
              {"kind", kind},
              {"metadata", {{"name", name}}},
              {"spec", std::move(spec)}};
  if (std::string_view(kind) == "ManagedClusterAddOn") object["metadata"]["namespace"] = "default";
  return object;
}

class AddonVersions : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(0, true));
    const Ran init = run({"init", "--context", "hub", "--wait"});
    ASSERT_EQ(init.code, 0) << init.both();
  }
  static KubeServer& hub() { return fleet()->hub(); }
  /// The conversion that the API server uses is that of the definition a moment ago.
  static bool converts() {
    return hub().eventually(in(kServed, "/managedclusteraddons"),
                            [](const Json& list) { return str(list, {"kind"}) == "ManagedClusterAddOnList"; });
  }
  static void create(std::string_view path, const Json& object) {
    const auto made = hub().create(path, object);
    ASSERT_EQ(made.status, 201) << made.body;
  }
};

TEST_F(AddonVersions, A_InitWaitsForTheConversion) {
  const Json definition = hub().get(kDefinition);
  EXPECT_FALSE(str(definition, {"spec", "conversion", "webhook", "clientConfig", "caBundle"}).empty());
  const Ran again = run({"init", "--context", "hub", "--wait", "-o", "json"});
  ASSERT_EQ(again.code, 0) << again.both();
  for (const Json& change : list_at(again.json(), {"changes"})) {
    EXPECT_EQ(str(change, {"action"}), "unchanged") << dump_json(change);
  }
  EXPECT_EQ(hub().get(kDefinition)["spec"], definition["spec"]);
}

TEST_F(AddonVersions, B_WhatOldClientsWriteNewOnesRead) {
  ASSERT_NO_FATAL_FAILURE(create(
      in(kStored, "/clustermanagementaddons"),
      object_of(kStored, "ClusterManagementAddOn", "old",
                {{"addOnConfiguration", {{"crdName", "things.example.com"}}},
                 {"supportedConfigs", Json::array({{{"group", "g"}, {"resource", "r"}},
                                                   {{"group", "g"}, {"resource", "q"}, {"defaultConfig", {{"name", "d"}}}}})}})));
  ASSERT_NO_FATAL_FAILURE(create(in(kStored, "/namespaces/default/managedclusteraddons"),
                                 object_of(kStored, "ManagedClusterAddOn", "old", {{"installNamespace", "agents"}})));
  ASSERT_TRUE(converts());
  const Json declaration = hub().get(in(kServed, "/clustermanagementaddons/old"));
  const Json& defaults = list_at(declaration, {"spec", "defaultConfigs"});
  ASSERT_EQ(defaults.size(), 2U) << dump_json(declaration);
  EXPECT_EQ(str(defaults[0], {"name"}), "__reserved_no_default__");
  EXPECT_EQ(str(defaults[1], {"name"}), "d");
  const Json addon = hub().get(in(kServed, "/namespaces/default/managedclusteraddons/old"));
  EXPECT_EQ(annotation_of(addon, kInstallNamespace), "agents") << dump_json(addon);

  // A new client changes something else; the old one finds what it wrote.
  const auto changed = hub().request("PATCH", in(kServed, "/clustermanagementaddons/old"),
                                     R"({"spec":{"addOnMeta":{"displayName":"Old"}}})", "application/merge-patch+json");
  ASSERT_EQ(changed.status, 200) << changed.body;
  const Json back = hub().get(in(kStored, "/clustermanagementaddons/old"));
  EXPECT_EQ(str(back, {"spec", "addOnMeta", "displayName"}), "Old");
  EXPECT_EQ(str(back, {"spec", "addOnConfiguration", "crdName"}), "things.example.com");
  EXPECT_EQ(list_at(back, {"spec", "supportedConfigs"}).size(), 2U);
  for (const std::string_view kept : {addon::kKeptOfV1alpha1Annotation, addon::kKeptOfV1beta1Annotation})
    EXPECT_EQ(annotation_of(back, kept), "") << dump_json(back);
}

TEST_F(AddonVersions, C_WhatNewClientsWriteOldOnesRead) {
  ASSERT_TRUE(converts());
  Json written = object_of(kServed, "ManagedClusterAddOn", "new", {{"configs", Json::array()}});
  written["metadata"]["annotations"][kInstallNamespace] = "agents";
  ASSERT_NO_FATAL_FAILURE(create(in(kServed, "/namespaces/default/managedclusteraddons"), written));
  const Json status{
      {"status",
       {{"registrations",
         Json::array({{{"type", "kubeClient"}, {"kubeClient", {{"driver", "csr"}, {"subject", {{"user", "a"}}}}}},
                      {{"type", "kubeClient"}, {"kubeClient", {{"driver", "token"}, {"subject", {{"user", "b"}}}}}},
                      {{"type", "customSigner"},
                       {"customSigner", {{"signerName", "example.com/s"}, {"subject", {{"organizationUnits", {"o"}}}}}}}})}}}};
  const std::string path = "/namespaces/default/managedclusteraddons/new";
  const auto reported = hub().request("PATCH", in(kServed, path + "/status"), dump_json(status), "application/merge-patch+json");
  ASSERT_EQ(reported.status, 200) << reported.body;
  const Json seen = hub().get(in(kServed, path));
  EXPECT_EQ(object_at(seen, {"status"}), status["status"]);
  const Json stored = hub().get(in(kStored, path));
  EXPECT_EQ(str(stored, {"spec", "installNamespace"}), "agents");
  EXPECT_EQ(annotation_of(stored, kInstallNamespace), "");
  EXPECT_EQ(str(stored, {"status", "kubeClientDriver"}), "csr");
  const Json& registrations = list_at(stored, {"status", "registrations"});
  ASSERT_EQ(registrations.size(), 3U) << dump_json(stored);
  EXPECT_EQ(str(registrations[1], {"signerName"}), "kubernetes.io/kube-apiserver-client");
  EXPECT_EQ(list_at(registrations[2], {"subject", "organizationUnit"}), Json::array({"o"}));
}

// Last: the hub's node is off, as after a power cut.
TEST_F(AddonVersions, D_WithoutItsWebhookOnlyTheOtherVersionIsRefused) {
  ASSERT_TRUE(converts());
  fleet()->kill_node(0);
  ASSERT_TRUE(eventually([] { return hub().request("GET", in(kServed, "/clustermanagementaddons/old")).status != 200; }));
  const auto refused = hub().request("GET", in(kServed, "/clustermanagementaddons/old"));
  EXPECT_EQ(refused.status, 500) << refused.body;
  EXPECT_NE(refused.body.find("conversion webhook"), std::string::npos) << refused.body;
  EXPECT_EQ(hub().request("GET", in(kStored, "/clustermanagementaddons/old")).status, 200);
  const auto changed = hub().request("PATCH", in(kStored, "/clustermanagementaddons/old"),
                                     R"({"spec":{"addOnMeta":{"displayName":"Alone"}}})", "application/merge-patch+json");
  EXPECT_EQ(changed.status, 200) << changed.body;
  // A hub on another address takes over.
  ASSERT_TRUE(fleet()->start_node(0));
  EXPECT_TRUE(hub().eventually(
      in(kServed, "/clustermanagementaddons/old"),
      [](const Json& declaration) {
        return str(declaration, {"spec", "addOnMeta", "displayName"}) == "Alone";
      },
      std::chrono::seconds(90)));
}

}  // namespace
}  // namespace fleetadm::testkit
