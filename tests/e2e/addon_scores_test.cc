// Scheduling by what clusters have free: the add-on resource-usage-collect, enabled on two clusters, and a placement that takes
// the one with the most free CPU.
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kStoredAddons = "/apis/addon.open-cluster-management.io/v1alpha1";
constexpr std::string_view kClusterApi = "/apis/cluster.open-cluster-management.io";

class AddonScores : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, true));
    const Ran init = run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    for (const char* cluster : {"c1", "c2"}) {
      auto args = join_args(init.json());
      args[2] = cluster;
      args[4] = cluster;
      const Ran joined = run(args);
      ASSERT_EQ(joined.code, 0) << joined.both();
    }
    const Ran accepted = run({"accept", "c1", "c2", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  }
  static KubeServer& hub() { return fleet()->hub(); }
  static std::string score_path(const std::string& cluster) {
    return std::string(kClusterApi) + "/v1alpha1/namespaces/" + cluster + "/addonplacementscores/resource-usage-score";
  }
};

TEST_F(AddonScores, APlacementTakesTheClusterWithTheMostFreeCpu) {
  // It is installed by the way, with the image of the hub.
  const Ran enabled = run({"addon", "enable", "resource-usage-collect", "--clusters", "c1,c2", "--context", "hub"});
  ASSERT_EQ(enabled.code, 0) << enabled.both();
  // c1 is asked for most of its CPU.
  const auto busy = fleet()->spoke(1).create(
      "/api/v1/namespaces/default/pods",
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", {{"name", "busy"}, {"namespace", "default"}}},
       {"spec",
        {{"containers", Json::array({{{"name", "a"}, {"image", "pause"}, {"resources", {{"requests", {{"cpu", "3"}}}}}}})}}}});
  ASSERT_EQ(busy.status, 201) << busy.body;
  const auto cpu = [](const Json& object) {
    for (const Json& score : list_at(object, {"status", "scores"})) {
      if (str(score, {"name"}) == "cpuAvailable") return num(score, {"value"}, -1000);
    }
    return std::int64_t{-1000};
  };
  // Nodes have 4 CPUs; fleetadm's own pods ask for little.
  EXPECT_TRUE(hub().eventually(
      score_path("c2"), [&](const Json& object) { return cpu(object) == 3; }, std::chrono::seconds(40)))
      << dump_json(hub().get(score_path("c2")))
      << dump_json(hub().get(std::string(kStoredAddons) + "/namespaces/c2/managedclusteraddons/resource-usage-collect"));
  EXPECT_TRUE(hub().eventually(
      score_path("c1"), [&](const Json& object) { return cpu(object) == 0; }, std::chrono::seconds(40)))
      << dump_json(hub().get(score_path("c1")));
  EXPECT_FALSE(str(hub().get(score_path("c2")), {"status", "validUntil"}).empty());

  ASSERT_EQ(run({"clusterset", "bind", "default", "--namespace", "default", "--context", "hub"}).code, 0);
  const auto placed = hub().create(
      std::string(kClusterApi) + "/v1beta1/namespaces/default/placements",
      {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
       {"kind", "Placement"},
       {"metadata", {{"name", "most-cpu"}, {"namespace", "default"}}},
       {"spec",
        {{"numberOfClusters", 1},
         {"prioritizerPolicy",
          {{"mode", "Exact"},
           {"configurations",
            Json::array(
                {{{"scoreCoordinate",
                   {{"type", "AddOn"}, {"addOn", {{"resourceName", "resource-usage-score"}, {"scoreName", "cpuAvailable"}}}}},
                  {"weight", 1}}})}}}}}});
  ASSERT_EQ(placed.status, 201) << placed.body;
  EXPECT_TRUE(hub().eventually(std::string(kClusterApi) + "/v1beta1/namespaces/default/placementdecisions/most-cpu-decision-1",
                               [](const Json& decision) {
                                 const Json& chosen = list_at(decision, {"status", "decisions"});
                                 return chosen.size() == 1 && str(chosen[0], {"clusterName"}) == "c2";
                               }));
}

/// After the test above.
TEST_F(AddonScores, UninstalledItIsGoneFromTheClustersAndTheHub) {
  const Ran asked = run({"addon", "uninstall", "resource-usage-collect", "--context", "hub"});
  EXPECT_EQ(asked.code, 1) << asked.both();
  const Ran gone =
      run({"addon", "uninstall", "resource-usage-collect", "--context", "hub", "--allow-removals", "--timeout", "90s"});
  ASSERT_EQ(gone.code, 0) << gone.both();
  for (const char* path : {"/clustermanagementaddons", "/addontemplates", "/managedclusteraddons"})
    EXPECT_TRUE(list_at(hub().get(std::string(kStoredAddons) + path), {"items"}).empty()) << path;
  EXPECT_TRUE(fleet()->spoke(1).eventually(
      "/apis/apps/v1/namespaces/open-cluster-management-agent-addon/deployments",
      [](const Json& list) { return list_at(list, {"items"}).empty(); }, std::chrono::seconds(60)));
}

}  // namespace
}  // namespace fleetadm::testkit
