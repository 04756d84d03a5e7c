// What a bundle shows, and that planted secrets are in none of its files.
#include "commands/doctor/bundle.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

const char* const kPlants[] = {"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudCJ9.c2ln",
                               "abcdef.0123456789abcdef",
                               "plant-in-env",
                               "plant-in-manifest",
                               "plant-in-feedback",
                               "plant-in-variable",
                               "plant-in-annotation",
                               "MHcCAQEEIplant"};

class Bundle : public testing::Test {
 protected:
  static Json object(const std::string& name, const std::string& ns, Json rest = Json::object()) {
    rest["metadata"]["name"] = name;
    if (!ns.empty()) rest["metadata"]["namespace"] = ns;
    return rest;
  }
  void plant() {
    api->put(
        api::managed_clusters(),
        object("c1", "",
               {{"metadata", {{"annotations", {{"kubectl.kubernetes.io/last-applied-configuration", "plant-in-annotation"}}}}},
                {"status",
                 {{"conditions",
                   Json::array({{{"type", "ManagedClusterJoined"},
                                 {"status", "False"},
                                 {"message", "401 with Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudCJ9.c2ln"}}})}}}}));
    api->put(
        api::manifest_works(),
        object("w", "c1",
               {{"spec",
                 {{"workload",
                   {{"manifests", Json::array({{{"kind", "ConfigMap"},
                                                {"metadata", {{"name", "shown"}}},
                                                {"data", {{"a", "plant-in-manifest"}}}}})}}}}},
                {"status",
                 {{"resourceStatus",
                   {{"manifests", Json::array({{{"resourceMeta", {{"kind", "ConfigMap"}}},
                                                {"statusFeedback", {{"values", Json::array({"plant-in-feedback"})}}}}})}}}}}}));
    api->put(api::addon_deployment_configs(),
             object("cfg", "c1",
                    {{"spec", {{"customizedVariables", Json::array({{{"name", "A"}, {"value", "plant-in-variable"}}})}}}}));
    const Json container{{"name", "hub"},
                         {"args", Json::array({"hub", "run", "--token=abcdef.0123456789abcdef"})},
                         {"env", Json::array({{{"name", "HARMLESS"}, {"value", "plant-in-env"}}})}};
    api->put(r::pods(), object("fleetadm-hub-0", std::string(api::kHubNamespace),
                               {{"spec", {{"containers", Json::array({container})}}},
                                {"status", {{"containerStatuses", Json::array({{{"name", "hub"}, {"restartCount", 1}}})}}}}));
    api->put(r::core_events(),
             object("e", std::string(api::kHubNamespace),
                    {{"message", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIplant\n-----END EC PRIVATE KEY-----"}}));
    api->put(r::secrets(), object("s", std::string(api::kHubNamespace), {{"data", {{"token", base64_encode("plant-in-env")}}}}));
    api->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      kube::Response response;
      response.status = 200;
      if (call.path.ends_with("/log")) {
        response.body = "started\nusing token abcdef.0123456789abcdef\n-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIplant\n";
      } else if (call.path.ends_with("/metrics")) {
        response.body = "workqueue_depth 0\n";
      } else {
        return std::nullopt;
      }
      return response;
    });
  }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
};

TEST_F(Bundle, NoPlantedSecretIsInAnyFile) {
  plant();
  const BundleFiles files = collect_bundle(api->client(), {.hub = true, .joined = true, .hosting = "hosted"});
  for (const auto& [name, content] : files) {
    for (const char* plant : kPlants) EXPECT_EQ(content.find(plant), std::string::npos) << name << " shows " << plant;
    EXPECT_EQ(content.find(base64_encode("plant-in-env")), std::string::npos) << name;
  }
  EXPECT_TRUE(api->writes().empty());
  EXPECT_EQ(api->count("list", "secrets"), 0) << "what is not read cannot be passed on";
}

TEST_F(Bundle, WhatHelpsIsInIt) {
  plant();
  BundleFiles files = collect_bundle(api->client(), {.hub = true});
  EXPECT_NE(files["hub/managedclusters.json"].find("ManagedClusterJoined"), std::string::npos);
  EXPECT_NE(files["hub/manifestworks.json"].find("\"shown\""), std::string::npos) << "what a work has, by name";
  EXPECT_NE(files["hub/logs/fleetadm-hub-0.hub.log"].find("started"), std::string::npos);
  EXPECT_EQ(files.count("hub/logs/fleetadm-hub-0.hub.previous.log"), 1U) << "the container was restarted";
  EXPECT_EQ(files["hub/metrics/fleetadm-hub-0.txt"], "workqueue_depth 0\n");
  EXPECT_EQ(files.count("cluster/appliedmanifestworks.json"), 0U) << "it is no managed cluster";
}

TEST_F(Bundle, WhatCannotBeReadIsTold) {
  api->fail_next("list", "placements", 403, "Forbidden");
  BundleFiles files = collect_bundle(api->client(), {.hub = true});
  EXPECT_NE(files["missing.txt"].find("hub/placements.json: "), std::string::npos) << files["missing.txt"];
  EXPECT_EQ(files.count("hub/managedclusters.json"), 1U) << "the others are there";
}

TEST_F(Bundle, IsATarFileForItsOwner) {
  const testkit::TemporaryFolder folder("bundle");
  const std::string path = (folder.path() / "fleet.tar").string();
  ASSERT_TRUE(write_bundle(path, {{"a.txt", "first"}, {"b/c.txt", "second"}}));
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_NE(text.str().find("fleetadm-bundle/b/c.txt"), std::string::npos);
  EXPECT_NE(text.str().find("second"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::commands
