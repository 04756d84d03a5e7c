// The rows of `get`: what hostile or half-filled objects look like.
#include <gtest/gtest.h>

#include "commands/get/get.h"
#include "commands/work/work.h"

namespace fleetadm::commands {
namespace {

std::vector<std::string> row_of(const ListView& view, const char* json, const char* now = "2026-01-02T00:00:00Z") {
  std::vector<std::string> cells = view.row(*parse_json(json), *parse_time(now));
  EXPECT_EQ(cells.size(), view.columns.size());
  return cells;
}
using Cells = std::vector<std::string>;

TEST(ClusterViewTest, AFullCluster) {
  EXPECT_EQ(row_of(cluster_view(), R"({"metadata":{"name":"c1","creationTimestamp":"2026-01-01T00:00:00Z",
      "labels":{"cluster.open-cluster-management.io/clusterset":"eu"}},
      "spec":{"hubAcceptsClient":true,"managedClusterClientConfigs":[{"url":"https://a"},{"url":"https://b"}],
        "taints":[{"key":"k","value":"v","effect":"NoSelect"},{"key":"x","effect":"PreferNoSelect"}]},
      "status":{"capacity":{"cpu":"8","memory":"16374392Ki"},"allocatable":{"cpu":"7500m","memory":"16Gi"},"version":{"kubernetes":"v1.35.4"},
        "clusterClaims":[{"name":"x","value":"y"},{"name":"agentversion.fleetadm.io","value":"v0.2.0"}],
        "conditions":[{"type":"ManagedClusterJoined","status":"True"},{"type":"ManagedClusterConditionAvailable","status":"Unknown"},
          {"type":"fleetadm.io/AgentReady","status":"False","message":"OOMKilled"}]}})"),
            (Cells{"c1", "true", "True", "Unknown", "eu", "24h", "pull", "<none>", "<none>", "v1.35.4", "v0.2.0",
                   "silent, at last not ready: OOMKilled", "<none>", "8", "?/7500m", "15.6Gi", "?/16Gi", "https://a,https://b",
                   "k=v:NoSelect,x:PreferNoSelect"}));
}

TEST(ClusterViewTest, EmptyAndWronglyTypedObjects) {
  Cells nothing = {"", "false", "<none>", "<none>", "<none>", "<unknown>", "pull"};
  nothing.resize(19, "<none>");
  EXPECT_EQ(row_of(cluster_view(), "{}"), nothing);
  EXPECT_EQ(row_of(cluster_view(), "null"), nothing);
  EXPECT_EQ(row_of(cluster_view(), R"({"metadata":[],"spec":"x","status":{"conditions":{},"capacity":7}})"), nothing);
}

TEST(ClusterViewTest, AClusterThatTheHubDials) {
  const auto heartbeat = [](const std::string& name, Instant) { return name == "c3" ? std::string("7s") : std::string(); };
  const Cells cells = row_of(cluster_view(heartbeat), R"({"metadata":{"name":"c3","labels":{"fleetadm.io/mode":"push"}},
      "status":{"capacity":{"cpu":"8","nodes.fleetadm.io/total":"3","nodes.fleetadm.io/ready":"2",
        "allocated.fleetadm.io/cpu":"2500m"},"allocatable":{"cpu":"7","memory":"1Gi"},
        "conditions":[{"type":"ManagedClusterConditionAvailable","status":"True","lastTransitionTime":"2026-01-01T23:59:00Z"}]}})");
  EXPECT_EQ(Cells(cells.begin() + 6, cells.begin() + 9), (Cells{"push", "60s", "7s"}));
  EXPECT_EQ(Cells(cells.begin() + 12, cells.begin() + 17), (Cells{"2/3", "8", "2500m/7", "<none>", "0/1Gi"}));
}

TEST(WorkViewTest, ManifestsAreCounted) {
  EXPECT_EQ(row_of(work_view(), R"({"metadata":{"name":"w","namespace":"c1","creationTimestamp":"2026-01-01T23:59:00Z"},
      "spec":{"workload":{"manifests":[{},{},{}]}},"status":{"conditions":[{"type":"Applied","status":"True"}]}})"),
            (Cells{"c1", "w", "3", "True", "<none>", "Unknown", "<none>", "60s", "<none>", ""}));
}

TEST(PlacementViewTest, NamespaceFirstWhereAll) {
  const auto clusters = [](const std::string& key) { return key == "ns/p" ? std::string("c1,c2") : std::string(); };
  const char* placement = R"({"metadata":{"name":"p","namespace":"ns","creationTimestamp":"2026-01-01T00:00:00Z"},
      "spec":{"clusterSets":["a","b"]},"status":{"numberOfSelectedClusters":2,
      "conditions":[{"type":"PlacementSatisfied","status":"False","reason":"NotAllDecisionsScheduled"}]}})";
  EXPECT_EQ(row_of(placement_view(true, clusters), placement),
            (Cells{"ns", "p", "False", "NotAllDecisionsScheduled", "2", "a,b", "24h", "c1,c2"}));
  EXPECT_EQ(row_of(placement_view(false, {}), "{}"), (Cells{"", "<none>", "<none>", "0", "<none>", "<unknown>", "<none>"}));
}

TEST(ClusterSetViewTest, TheSizeComesFromTheCondition) {
  const auto bound = [](const std::string&) { return std::string("ns1,ns2"); };
  auto size = [&](const char* condition) {
    return row_of(cluster_set_view(bound),
                  (std::string(R"({"metadata":{"name":"s"},"status":{"conditions":[)") + condition + "]}}").c_str())[2];
  };
  EXPECT_EQ(size(R"({"type":"ClusterSetEmpty","status":"False","message":"12 ManagedClusters selected"})"), "12");
  EXPECT_EQ(size(R"({"type":"ClusterSetEmpty","status":"True","message":"No ManagedCluster selected"})"), "0");
  EXPECT_EQ(size(R"({"type":"ClusterSetEmpty","status":"False","message":"many"})"), "<unknown>");
  EXPECT_EQ(size(""), "<unknown>");
}

TEST(MemoryCellTest, BinaryUnits) {
  EXPECT_EQ(memory_cell("16374392Ki"), "15.6Gi");
  EXPECT_EQ(memory_cell("64Gi"), "64Gi");
  EXPECT_EQ(memory_cell("500"), "500");
  EXPECT_EQ(memory_cell(""), "<none>");
  EXPECT_EQ(memory_cell("lots"), "lots");
}

}  // namespace
}  // namespace fleetadm::commands
