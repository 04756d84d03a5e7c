// The Secrets of an agent's hubs.
#include "core/registration/join/hub_secrets.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/registration/join/agent_manifests.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

using Words = std::vector<std::string>;

TEST(HubSecrets, OneHubNeedsNoArguments) {
  Words args{"--agent-id=a"};
  add_hub_args(hub_secret_names("first", 1), args);
  EXPECT_EQ(args, Words{"--agent-id=a"});
}

TEST(HubSecrets, FurtherHubsComeAfterTheFirst) {
  Words args;
  add_hub_args(hub_secret_names("first", 3), args);
  EXPECT_EQ(args, (Words{"--bootstrap-secret=first", "--bootstrap-secret=first-2", "--bootstrap-secret=first-3"}));
  Words told{"--bootstrap-secret=first", "--bootstrap-secret=mine"};
  add_hub_args(hub_secret_names("first", 2), told);
  EXPECT_EQ(told, (Words{"--bootstrap-secret=first", "--bootstrap-secret=mine", "--bootstrap-secret=first-2"}));
}

TEST(HubSecrets, TheAgentMayReadThoseOfItsHubs) {
  const auto objects = agent_manifests({.cluster_name = "c1"}, {"one", "two"});
  ASSERT_TRUE(objects);
  Words secrets;
  Words readable;
  for (const Json& object : *objects) {
    if (str(object, {"kind"}) == "Secret") secrets.push_back(name_of(object));
    if (str(object, {"kind"}) != "Role" || name_of(object) != "open-cluster-management:fleetadm-agent") continue;
    readable = string_list_at(list_at(object, {"rules"}).front(), {"resourceNames"});
  }
  EXPECT_EQ(secrets, (Words{"bootstrap-hub-kubeconfig", "bootstrap-hub-kubeconfig-2"}));
  EXPECT_EQ(readable, (Words{"bootstrap-hub-kubeconfig", "bootstrap-hub-kubeconfig-2", "hub-kubeconfig-secret"}));
}

TEST(AgentManifests, FiguresNeedARoleOnlyWhereTheyAreReported) {
  const auto has_role = [](std::vector<std::string> args) {
    const auto objects = agent_objects({.cluster_name = "c1", .args = std::move(args)});
    if (!objects) return false;
    return std::any_of(objects->begin(), objects->end(),
                       [](const Json& object) { return name_of(object) == "open-cluster-management:fleetadm-agent-figures"; });
  };
  EXPECT_FALSE(has_role({}));
  EXPECT_FALSE(has_role({"--report-figures=false"}));
  EXPECT_TRUE(has_role({"--report-figures"}));
  EXPECT_TRUE(has_role({"--report-figures=false", "--report-figures=true"})) << "the last one counts, as for the agent";
}

TEST(HubSecrets, ThoseOfHubsThatAreLeftOutGoAndForeignOnesStay) {
  const auto api = testkit::FakeApi::make();
  const auto put = [&](const std::string& name, const std::string& part) {
    Json secret = kubeconfig_secret("agents", name, "k");
    if (!part.empty()) secret["metadata"]["labels"] = {{std::string(install::kPartLabel), part}};
    api->put(kube::resources::secrets(), secret);
  };
  put("first", "agent");
  put("first-2", "agent");
  put("first-3", "agent");
  put("first-4", "");
  const auto dropped = drop_further_hubs(api->client(), "agents", "first", 1, "agent");
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->size(), 2U);
  EXPECT_TRUE(api->get(kube::resources::secrets(), "agents", "first"));
  EXPECT_FALSE(api->get(kube::resources::secrets(), "agents", "first-3"));
  EXPECT_TRUE(api->get(kube::resources::secrets(), "agents", "first-4"));
}

}  // namespace
}  // namespace fleetadm::join
