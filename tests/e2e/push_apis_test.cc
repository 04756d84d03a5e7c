// What the hub tells of the clusters that it dials: their APIs, by which placements select, where they are, and what people see.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

const std::string kGlobalSet = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/global";
const std::string kScores = "/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/";

class PushApis : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(2, false));
    const Ran init = run({"init", "--push", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ASSERT_NO_FATAL_FAILURE(start_controllers_with_own_rights({"--push"}));
    ASSERT_NO_FATAL_FAILURE(serve_widgets());
    ASSERT_NO_FATAL_FAILURE(put_node());
    for (const char* member : {"c1", "c2"}) {
      const Ran joined =
          run({"join", "--push", "--context", "hub", "--member-context", member, "--allow-loopback", "--wait=available"});
      ASSERT_EQ(joined.code, 0) << joined.both();
    }
  }
  static void serve_widgets() {
    const Json schema{{"openAPIV3Schema", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}};
    const Json version{{"name", "v1"}, {"served", true}, {"storage", true}, {"schema", schema}};
    const Json names{{"plural", "widgets"}, {"singular", "widget"}, {"kind", "Widget"}};
    const auto made = fleet()->spoke(1).create(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {{"apiVersion", "apiextensions.k8s.io/v1"},
         {"kind", "CustomResourceDefinition"},
         {"metadata", {{"name", "widgets.example.com"}}},
         {"spec", {{"group", "example.com"}, {"scope", "Namespaced"}, {"names", names}, {"versions", Json::array({version})}}}});
    ASSERT_EQ(made.status, 201) << made.body;
    ASSERT_TRUE(fleet()->spoke(1).eventually("/apis/example.com/v1", [](const Json& list) { return !list.is_null(); }));
  }
  static void put_node() {
    const Json labels{{"topology.kubernetes.io/region", "eu"}, {"topology.kubernetes.io/zone", "eu-a"}};
    const auto made = fleet()->spoke(1).create("/api/v1/nodes", {{"apiVersion", "v1"},
                                                                 {"kind", "Node"},
                                                                 {"metadata", {{"name", "n1"}, {"labels", labels}}},
                                                                 {"spec", {{"providerID", "aws:///eu-a/i-1"}}}});
    ASSERT_EQ(made.status, 201) << made.body;
    const Json amounts{{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "110"}};
    const Json ready{{"type", "Ready"}, {"status", "True"}, {"reason", "Test"}, {"message", ""}};
    const Json status{{"status", {{"capacity", amounts}, {"allocatable", amounts}, {"conditions", Json::array({ready})}}}};
    const auto set =
        fleet()->spoke(1).request("PATCH", "/api/v1/nodes/n1/status", dump_json(status), "application/merge-patch+json");
    ASSERT_EQ(set.status, 200) << set.body;
  }
  static bool tells(const std::string& cluster, const std::string& api) {
    return fleet()->hub().eventually(kScores + cluster + "/addonplacementscores/served-apis", [&](const Json& score) {
      for (const Json& one : list_at(score, {"status", "scores"})) {
        if (str(one, {"name"}) == api) return true;
      }
      return false;
    });
  }
};

TEST_F(PushApis, A_APlacementSelectsByAnApi) {
  ASSERT_TRUE(tells("c1", "example.com/v1/Widget"));
  ASSERT_TRUE(tells("c2", "apps/v1/Deployment"));
  const Json score = fleet()->hub().get(kScores + "c1/addonplacementscores/served-apis");
  EXPECT_EQ(str(list_at(score, {"status", "conditions"})[0], {"reason"}), "Complete");
  ASSERT_TRUE(fleet()->hub().eventually(kGlobalSet, [](const Json& set) { return !set.is_null(); }));
  const Ran bound = run({"clusterset", "bind", "global", "-n", "default", "--context", "hub"});
  ASSERT_EQ(bound.code, 0) << bound.both();
  const auto chosen = [](const std::string& name, const std::string& api) {
    const Ran made = run({"placement", "create", name, "-n", "default", "--requires-api", api, "--wait", "--context", "hub"});
    EXPECT_EQ(made.code, 0) << made.both();
    return run({"get", "placements", name, "-n", "default", "-o", "wide", "--no-headers", "--context", "hub"}).out;
  };
  const std::string widgets = chosen("widgets", "example.com/v1/Widget");
  EXPECT_NE(widgets.find("c1"), std::string::npos) << widgets;
  EXPECT_EQ(widgets.find("c2"), std::string::npos) << widgets;
  const std::string deployments = chosen("deployments", "apps/v1/Deployment");
  EXPECT_NE(deployments.find("c1,c2"), std::string::npos) << deployments;
}

TEST_F(PushApis, B_WhereItIsBecomesClaimsAndLabels) {
  const bool told = fleet()->hub().eventually(std::string(kManagedClusters) + "/c1", [](const Json& cluster) {
    for (const Json& claim : list_at(cluster, {"status", "clusterClaims"})) {
      if (str(claim, {"name"}) == "zones.fleetadm.io") return str(claim, {"value"}) == "eu-a";
    }
    return false;
  });
  const Json cluster = fleet()->hub().get(std::string(kManagedClusters) + "/c1");
  EXPECT_TRUE(told) << dump_json(cluster);
  EXPECT_EQ(label_of(cluster, "topology.kubernetes.io/region"), "eu");
  EXPECT_EQ(label_of(cluster, "topology.kubernetes.io/zone"), "eu-a");
  EXPECT_EQ(label_of(cluster, "fleetadm.io/provider"), "aws");
}

TEST_F(PushApis, C_PeopleSeeModeHeartbeatAndNodes) {
  ASSERT_TRUE(fleet()->hub().eventually(std::string(kManagedClusters) + "/c1", [](const Json& cluster) {
    return str(cluster, {"status", "capacity", "nodes.fleetadm.io/total"}) == "1";
  }));
  const Ran wide =
      run({"get", "clusters", "c1", "-o", "csv", "--columns", "name,mode,nodes,cpu allocated,heartbeat", "--context", "hub"});
  ASSERT_EQ(wide.code, 0) << wide.both();
  EXPECT_NE(wide.out.find("c1,push,1/1,0/4,"), std::string::npos) << wide.out;
  EXPECT_EQ(wide.out.find("<none>"), std::string::npos) << wide.out;
  const Ran described = run({"cluster", "describe", "c1", "--context", "hub"});
  ASSERT_EQ(described.code, 0) << described.both();
  for (const char* line : {"push (the hub dials it)", "1 ready of 1", "True, for "})
    EXPECT_NE(described.out.find(line), std::string::npos) << described.out;
}

TEST_F(PushApis, D_FullRightsLetWorksBeAboutAnything) {
  const std::string works = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
  const Json widget{
      {"apiVersion", "example.com/v1"}, {"kind", "Widget"}, {"metadata", {{"name", "w"}, {"namespace", "default"}}}};
  const auto made = fleet()->hub().create(works, {{"apiVersion", "work.open-cluster-management.io/v1"},
                                                  {"kind", "ManifestWork"},
                                                  {"metadata", {{"name", "widget"}, {"namespace", "c1"}}},
                                                  {"spec", {{"workload", {{"manifests", Json::array({widget})}}}}}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(condition_becomes(fleet()->hub(), works + "/widget", "Applied", "False")) << "no more than an agent may";
  const Ran joined =
      run({"join", "--push", "--context", "hub", "--member-context", "c1", "--allow-loopback", "--full-rights", "-o", "json"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  EXPECT_TRUE(condition_becomes(fleet()->hub(), works + "/widget", "Applied", "True", std::chrono::minutes(3)));
  EXPECT_FALSE(fleet()->spoke(1).get("/apis/example.com/v1/namespaces/default/widgets/w").is_null());
  const Ran left = run({"unjoin", "--push", "--context", "hub", "--cluster-name", "c1", "--allow-removals"});
  EXPECT_EQ(left.code, 0) << left.both();
  // With the namespace that owns them.
  EXPECT_TRUE(eventually(
      [] {
        const auto names = inventory(fleet()->spoke(1));
        return std::none_of(names.begin(), names.end(), [](const auto& name) { return name.ends_with(":work:full"); });
      },
      std::chrono::minutes(2)));
}

}  // namespace
}  // namespace fleetadm::testkit
