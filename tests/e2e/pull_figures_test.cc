// join --report-figures: an agent tells readiness, figures and served APIs of its cluster as the hub does of clusters that it
// dials; one that is not told to does not, and has no right to.
#include <algorithm>
#include <gtest/gtest.h>

#include "core/api/cluster_claim.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kFiguresRole =
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:fleetadm-agent-figures";

class PullFigures : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(3, true));
    const Ran init = run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ticket() = init.json();
    for (const char* cluster : {"c1", "c2"}) {
      std::vector<std::string> args = join_args(init.json());
      for (std::string& arg : args) {
        if (arg == "c1") arg = cluster;
      }
      if (cluster == std::string("c1")) args.emplace_back("--report-figures");
      args.emplace_back("--wait=registered");
      const Ran joined = run(args);
      ASSERT_EQ(joined.code, 0) << joined.both();
    }
    const Ran accepted = run({"accept", "c1", "c2", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  }
  static Json& ticket() {
    static Json the_ticket;
    return the_ticket;
  }
  static std::string path_of(const std::string& cluster) { return std::string(kManagedClusters) + "/" + cluster; }
  static std::string table(const std::string& cluster, const std::string& columns) {
    const Ran ran =
        run({"get", "clusters", cluster, "-o", "csv", "--columns", "name,mode," + columns, "--no-headers", "--context", "hub"});
    EXPECT_EQ(ran.code, 0) << ran.both();
    return ran.out;
  }
};

TEST_F(PullFigures, A_TheHubSeesReadyAndFigures) {
  const Json requests{{"cpu", "250m"}, {"memory", "64Mi"}};
  const auto made = fleet()->spoke(1).create(
      "/api/v1/namespaces/default/pods",
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", {{"name", "holds"}}},
       {"spec",
        {{"nodeName", "elsewhere"},
         {"containers", Json::array({{{"name", "c"}, {"image", "x"}, {"resources", {{"requests", requests}}}}})}}}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(condition_becomes(fleet()->hub(), path_of("c1"), "Ready", "True"));
  EXPECT_TRUE(fleet()->hub().eventually(
      path_of("c1"),
      [](const Json& cluster) {
        const Json& capacity = object_at(cluster, {"status", "capacity"});
        // The agent's own pod asks for 5m.
        return str(capacity, {"nodes.fleetadm.io/ready"}) == "1" && str(capacity, {"allocated.fleetadm.io/cpu"}) == "255m";
      },
      std::chrono::minutes(2)))
      << dump_json(object_at(fleet()->hub().get(path_of("c1")), {"status"}));
  EXPECT_NE(table("c1", "nodes").find("c1,pull,1/1"), std::string::npos) << table("c1", "nodes");
  EXPECT_NE(table("c2", "nodes").find("c2,pull,<none>"), std::string::npos) << table("c2", "nodes");
  const Ran described = run({"cluster", "describe", "c1", "--context", "hub"});
  EXPECT_NE(described.out.find("1 ready of 1"), std::string::npos) << described.both();
}

TEST_F(PullFigures, A_TheHubSeesWhereItRuns) {
  const Json nodes = fleet()->spoke(1).get("/api/v1/nodes");
  ASSERT_EQ(list_at(nodes, {"items"}).size(), 1U) << dump_json(nodes);
  const Json labels{{"metadata", {{"labels", {{"topology.kubernetes.io/region", "eu"}}}}}};
  const auto labelled = fleet()->spoke(1).request("PATCH", "/api/v1/nodes/" + name_of(list_at(nodes, {"items"})[0]),
                                                  dump_json(labels), "application/merge-patch+json");
  ASSERT_EQ(labelled.status, 200) << labelled.body;
  EXPECT_TRUE(fleet()->hub().eventually(path_of("c1"), [](const Json& cluster) {
    return label_of(cluster, "topology.kubernetes.io/region") == "eu" && api::told_claim(cluster, "region.fleetadm.io") == "eu";
  })) << dump_json(fleet()->hub().get(path_of("c1")));
}

TEST_F(PullFigures, B_PlacementsSelectItByAnApi) {
  ASSERT_TRUE(fleet()->hub().eventually(
      "/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/c1/addonplacementscores/served-apis",
      [](const Json& score) {
        return list_at(score, {"status", "scores"}).size() > 10;
      },
      std::chrono::minutes(1)));
  ASSERT_EQ(run({"clusterset", "bind", "global", "-n", "default", "--context", "hub"}).code, 0);
  const Ran made =
      run({"placement", "create", "apps", "-n", "default", "--requires-api", "apps/v1/Deployment", "--wait", "--context", "hub"});
  ASSERT_EQ(made.code, 0) << made.both();
  const std::string chosen =
      run({"get", "placements", "apps", "-n", "default", "-o", "wide", "--no-headers", "--context", "hub"}).out;
  EXPECT_NE(chosen.find("c1"), std::string::npos) << chosen;
  EXPECT_EQ(chosen.find("c2"), std::string::npos) << chosen;
}

TEST_F(PullFigures, C_WhoIsNotToldToHasNoRightTo) {
  EXPECT_FALSE(fleet()->spoke(1).get(kFiguresRole).is_null());
  EXPECT_TRUE(fleet()->spoke(2).get(kFiguresRole).is_null());
  const std::string bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/";
  const std::string name = "/rolebindings/open-cluster-management:managedcluster:";
  EXPECT_FALSE(fleet()->hub().get(bindings + "c1" + name + "c1:figures").is_null());
  EXPECT_TRUE(fleet()->hub().get(bindings + "c2" + name + "c2:figures").is_null());
  const Json other = fleet()->hub().get(path_of("c2"));
  for (const Json& condition : list_at(other, {"status", "conditions"})) {
    EXPECT_NE(str(condition, {"type"}), "Ready");
    EXPECT_NE(str(condition, {"type"}), "Responding");
  }
}

TEST_F(PullFigures, C_NobodyElsesHeartbeatCounts) {
  const auto may = [](const std::string& user, const std::string& group, const std::string& cluster, Json what) {
    what["version"] = "*";
    const Json review{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SubjectAccessReview"},
                      {"spec", {{"user", user}, {"groups", Json::array({group})}, {"resourceAttributes", std::move(what)}}}};
    const auto answer = fleet()->hub().create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review);
    EXPECT_EQ(answer.status, 201) << cluster << ": " << answer.body;
    return flag(answer.json(), {"status", "allowed"});
  };
  const auto heartbeats = [](const std::string& cluster) {
    const std::string fleet_group = "cluster.open-cluster-management.io";
    return std::vector<Json>{{{"verb", "update"},
                              {"group", "coordination.k8s.io"},
                              {"resource", "leases"},
                              {"namespace", cluster},
                              {"name", "managed-cluster-lease"}},
                             {{"verb", "patch"},
                              {"group", fleet_group},
                              {"resource", "managedclusters"},
                              {"subresource", "status"},
                              {"name", cluster}}};
  };
  const std::string agent = "system:open-cluster-management:c2:agent";
  const std::string its_group = "system:open-cluster-management:c2";
  for (const Json& what : heartbeats("c2")) {
    EXPECT_TRUE(may(agent, its_group, "c2", what)) << what;
    EXPECT_FALSE(may("system:anonymous", "system:unauthenticated", "c2", what)) << what;
    EXPECT_FALSE(
        may("system:serviceaccount:open-cluster-management:agent-registration-bootstrap", "system:authenticated", "c2", what))
        << what;
  }
  for (const Json& what : heartbeats("c1")) EXPECT_FALSE(may(agent, its_group, "c1", what)) << what;
}

TEST_F(PullFigures, D_AHostedMemberToo) {
  std::vector<std::string> args = join_args(ticket());
  std::replace(args.begin(), args.end(), std::string("c1"), std::string("c3"));
  args.at(2) = "c2";  // the cluster that hosts its agent
  args.insert(args.end(),
              {"--mode", "hosted", "--managed-cluster-context", "c3", "--report-figures", "--wait=registered", "-o", "json"});
  const Ran joined = run(args);
  ASSERT_EQ(joined.code, 0) << joined.both();
  const Ran accepted = run({"accept", "c3", "--context", "hub", "--yes", "--wait=available"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  EXPECT_TRUE(condition_becomes(fleet()->hub(), path_of("c3"), "Ready", "True"));
  EXPECT_TRUE(fleet()->hub().eventually(
      "/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/c3/addonplacementscores/served-apis",
      [](const Json& score) {
        return list_at(score, {"status", "scores"}).size() > 10;
      },
      std::chrono::minutes(1)));
  EXPECT_NE(table("c3", "nodes").find("c3,hosted,1/1"), std::string::npos) << table("c3", "nodes");
}

TEST_F(PullFigures, E_NothingOfItStays) {
  const Ran left = run({"unjoin", "--context", "c1", "--hub-context", "hub", "--cluster-name", "c1", "--allow-removals"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(fleet()->spoke(1).get(kFiguresRole).is_null());
}

}  // namespace
}  // namespace fleetadm::testkit
