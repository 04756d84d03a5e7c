#include "commands/addon/chain.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

Json condition(const char* type, const char* status, const char* reason, const char* message) {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", message}};
}

/// An add-on that is available on its cluster.
AddonFacts healthy() {
  AddonFacts facts;
  facts.addon = "hello";
  facts.cluster = "c1";
  facts.declaration = {
      {"metadata", {{"name", "hello"}}},
      {"spec",
       {{"installStrategy", {{"type", "Placements"}, {"placements", Json::array({{{"namespace", "apps"}, {"name", "eu"}}})}}}}}};
  facts.managed_cluster = {
      {"metadata", {{"name", "c1"}}},
      {"spec", {{"hubAcceptsClient", true}}},
      {"status", {{"conditions", Json::array({condition("ManagedClusterConditionAvailable", "True", "Available", "")})}}}};
  facts.selected_by = {"apps/eu"};
  facts.managed_addon = {{"metadata", {{"name", "hello"}, {"namespace", "c1"}}},
                         {"status",
                          {{"configReferences", Json::array({{{"group", "addon.open-cluster-management.io"},
                                                              {"resource", "addontemplates"},
                                                              {"desiredConfig", {{"name", "hello-1"}, {"specHash", "abc"}}}}})},
                           {"conditions", Json::array({condition("Configured", "True", "ConfigurationsConfigured", ""),
                                                       condition("RegistrationApplied", "True", "SetPermissionApplied", ""),
                                                       condition("ManifestApplied", "True", "AddonManifestApplied", ""),
                                                       condition("Available", "True", "ProbeAvailable", "is available")})}}}};
  return facts;
}

Json& condition_of_addon(AddonFacts& facts, const std::string& type) {
  for (Json& one : facts.managed_addon["status"]["conditions"]) {
    if (one["type"] == type) return one;
  }
  return facts.managed_addon["status"]["conditions"].emplace_back(Json{{"type", type}});
}

void drop_condition(AddonFacts& facts, const std::string& type) {
  Json& all = facts.managed_addon["status"]["conditions"];
  for (auto at = all.begin(); at != all.end(); ++at) {
    if ((*at)["type"] != type) continue;
    all.erase(at);
    return;
  }
}

/// "link state: text" of the last link.
std::string end_of(const AddonFacts& facts) {
  const Link last = addon_chain(facts).back();
  return std::string(last.name) + " " + std::string(to_string(last.state)) + ": " + last.text;
}

TEST(AddonChain, OfAnAvailableAddonIsWhole) {
  const auto chain = addon_chain(healthy());
  ASSERT_EQ(chain.size(), 8U);
  for (const Link& link : chain) {
    EXPECT_EQ(link.state, Link::State::kHolds) << link.name << ": " << link.text;
    EXPECT_EQ(link.next, "") << link.name;
  }
}

TEST(AddonChain, EndsAtWhatIsMissingFirst) {
  AddonFacts facts = healthy();
  facts.declaration = nullptr;
  EXPECT_EQ(end_of(facts), "declaration Broken: there is no add-on \"hello\" on the hub");

  facts = healthy();
  facts.managed_cluster["spec"]["hubAcceptsClient"] = false;
  EXPECT_EQ(end_of(facts), "cluster Broken: the hub has not accepted the cluster");
  facts.managed_cluster = nullptr;
  EXPECT_EQ(end_of(facts), "cluster Broken: there is no such cluster on the hub");

  facts = healthy();
  facts.managed_cluster["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_TRUE(end_of(facts).starts_with("cluster Broken: the cluster's agent does not respond")) << end_of(facts);
}

TEST(AddonChain, TellsWhoInstalls) {
  AddonFacts facts = healthy();
  facts.selected_by.clear();
  EXPECT_EQ(end_of(facts), "installation Broken: no placement of the add-on selects the cluster (apps/eu)");
  EXPECT_EQ(addon_chain(facts).back().next, "fleetadm placement explain eu -n apps --cluster c1");

  facts = healthy();
  facts.managed_addon = nullptr;
  EXPECT_TRUE(end_of(facts).starts_with("installation Waits: placement apps/eu selects the cluster")) << end_of(facts);
  facts.declaration["spec"]["installStrategy"] = {{"type", "Manual"}};
  EXPECT_EQ(end_of(facts), "installation Broken: the add-on is not enabled on the cluster");
  EXPECT_EQ(addon_chain(facts).back().next, "fleetadm addon enable hello --clusters c1");

  facts = healthy();
  facts.managed_addon["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  facts.managed_addon["metadata"]["finalizers"] = {"addon.open-cluster-management.io/addon-pre-delete"};
  EXPECT_EQ(end_of(facts), "installation Waits: the add-on is being removed (addon.open-cluster-management.io/addon-pre-delete)");
}

TEST(AddonChain, NamesTheMissingConfiguration) {
  AddonFacts facts = healthy();
  Json& reference = facts.managed_addon["status"]["configReferences"][0];
  reference["resource"] = "addondeploymentconfigs";
  reference["desiredConfig"] = {{"name", "cfg"}, {"namespace", "apps"}, {"specHash", ""}};
  EXPECT_EQ(end_of(facts), "configuration Broken: addondeploymentconfigs apps/cfg does not exist");
  facts = healthy();
  facts.no_template = "hello-1";
  EXPECT_EQ(end_of(facts), "template Broken: AddOnTemplate hello-1 does not exist");

  facts = healthy();
  condition_of_addon(facts, "Configured") = condition("Configured", "False", "ConfigurationsNotConfigured", "waits for its turn");
  EXPECT_EQ(end_of(facts), "configuration Waits: ConfigurationsNotConfigured: waits for its turn");
  drop_condition(facts, "Configured");
  EXPECT_EQ(end_of(facts), "configuration Waits: the hub has not configured the add-on");
  facts.declaration["metadata"]["annotations"] = {{"addon.open-cluster-management.io/lifecycle", "self"}};
  EXPECT_EQ(addon_chain(facts).size(), 8U) << "its own manager configures it";
}

TEST(AddonChain, TellsOfRegistrationWorksAndHealth) {
  AddonFacts facts = healthy();
  facts.requests = {{{"metadata", {{"name", "addon-c1-hello-x"}}}}};
  EXPECT_EQ(end_of(facts), "registration Waits: certificate request addon-c1-hello-x is not approved");
  facts.requests[0]["status"]["conditions"] = Json::array({condition("Approved", "True", "", "")});
  EXPECT_EQ(addon_chain(facts).size(), 8U);

  facts.works = {parse_json(R"({
    "metadata": {"name": "addon-hello-deploy-0", "namespace": "c1", "generation": 1},
    "spec": {"workload": {"manifests": [
      {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"}}]}},
    "status": {
      "conditions": [{"type": "Applied", "status": "False", "reason": "AppliedManifestWorkFailed", "message": "no",
                      "observedGeneration": 1}],
      "resourceStatus": {"manifests": [{
        "resourceMeta": {"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments",
                         "namespace": "n", "name": "d"},
        "conditions": [{"type": "Applied", "status": "False", "reason": "AppliedManifestFailed", "message": "forbidden",
                        "observedGeneration": 1}]}]}}})")
                     .value()};
  condition_of_addon(facts, "ManifestApplied")["status"] = "False";
  EXPECT_EQ(end_of(facts), "works Broken: work addon-hello-deploy-0 is not applied: Deployment n/d: forbidden");
  EXPECT_EQ(addon_chain(facts).back().next, "fleetadm work describe addon-hello-deploy-0 --clusters c1");

  facts = healthy();
  condition_of_addon(facts, "Available") = condition("Available", "False", "ProbeUnavailable", "no replica");
  EXPECT_EQ(end_of(facts), "health Broken: ProbeUnavailable: no replica");
  drop_condition(facts, "Available");
  EXPECT_EQ(end_of(facts), "health Waits: nothing is known of the agent's health yet");
}

}  // namespace
}  // namespace fleetadm::commands
