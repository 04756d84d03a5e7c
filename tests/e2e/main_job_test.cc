// The main job on real servers: one hub, three spokes; a placement picks two of three by label and allocatable memory, a
// Deployment and a ConfigMap run on exactly those two, an agent dies and its work moves to the third cluster.
#include <gtest/gtest.h>

#include "tests/support/fleet.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kApp = R"(apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: page, namespace: web}
data: {index.html: hello}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
)";

class MainJob : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = Fleet::start(3);
    ASSERT_TRUE(started) << started.error().message;
    fleet() = std::move(*started);
    for (int i = 0; i <= 3; ++i) before()[i] = inventory(i == 0 ? fleet()->hub() : fleet()->spoke(i));
  }
  static void TearDownTestSuite() { fleet().reset(); }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (broken()) GTEST_FAIL() << "a step before this one failed";
  }
  void TearDown() override { broken() = broken() || HasFatalFailure(); }

  static std::unique_ptr<Fleet>& fleet() {
    static std::unique_ptr<Fleet> the_fleet;
    return the_fleet;
  }
  static std::map<int, std::set<std::string>>& before() {
    static std::map<int, std::set<std::string>> all;
    return all;
  }
  static bool& broken() {
    static bool is_broken = false;
    return is_broken;
  }
  static std::string cluster_path(int i) { return std::string(kManagedClusters) + "/c" + std::to_string(i); }
  static void patch_cluster(int i, const Json& patch) {
    const auto answer = fleet()->hub().request("PATCH", cluster_path(i), dump_json(patch), "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  static std::set<std::string> decided() {
    std::set<std::string> names;
    const Json list = fleet()->hub().get("/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placementdecisions");
    for (const Json& item : list_at(list, {"items"})) {
      for (const Json& entry : list_at(item, {"status", "decisions"})) names.insert(str(entry, {"clusterName"}));
    }
    return names;
  }
  // The spokes on which the Deployment has all its replicas available.
  static std::set<std::string> serving() {
    std::set<std::string> names;
    for (int i = 1; i <= 3; ++i) {
      const Json deployment = fleet()->spoke(i).get("/apis/apps/v1/namespaces/web/deployments/web");
      const Json page = fleet()->spoke(i).get("/api/v1/namespaces/web/configmaps/page");
      if (num(deployment, {"status", "availableReplicas"}) == 2 && str(page, {"data", "index.html"}) == "hello")
        names.insert("c" + std::to_string(i));
    }
    return names;
  }
  static Ran must(const std::vector<std::string>& args) {
    Ran ran = fleet()->run(args);
    EXPECT_EQ(ran.code, 0) << args.front() << ": " << ran.both();
    return ran;
  }
  using Names = std::set<std::string>;
};

TEST_F(MainJob, A_InitJoinAccept) {
  const Ran init = must({"init", "--context", "hub", "--wait", "-o", "json"});
  ASSERT_EQ(init.code, 0);
  const Json ticket = init.json();
  for (int i = 1; i <= 3; ++i) {
    const std::string name = "c" + std::to_string(i);
    const Ran join = must({"join", "--context", name, "--cluster-name", name, "--hub-apiserver", str(ticket, {"hub-apiserver"}),
                           "--hub-token", str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"});
    ASSERT_EQ(join.code, 0);
  }
  const Ran accept = must({"accept", "--context", "hub", "--all", "--yes", "--wait=available"});
  ASSERT_EQ(accept.code, 0);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path(i), "ManagedClusterConditionAvailable", "True"));
    EXPECT_TRUE(eventually([&] {
      return !str(fleet()->hub().get(cluster_path(i)), {"status", "allocatable", "memory"}).empty();
    }));
  }
}

TEST_F(MainJob, B_SetBindingAndPlacementPickTwoOfThree) {
  ASSERT_EQ(fleet()
                ->hub()
                .create("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}})
                .status,
            201);
  for (int i = 1; i <= 3; ++i)
    patch_cluster(i, {{"metadata", {{"labels", {{"tier", "gold"}}}}}, {"spec", {{"leaseDurationSeconds", 3}}}});
  ASSERT_EQ(must({"clusterset", "create", "prod", "--context", "hub"}).code, 0);
  ASSERT_EQ(must({"clusterset", "set", "prod", "--clusters", "c1,c2,c3", "--context", "hub"}).code, 0);
  // Without a binding nothing of the set is selected.
  ASSERT_EQ(must({"placement", "create", "web", "-n", "apps", "--clusterset", "prod", "-l", "tier=gold", "-k", "2",
                  "--prioritizer", "ResourceAllocatableMemory=1", "--exact", "--context", "hub"})
                .code,
            0);
  EXPECT_TRUE(condition_becomes(fleet()->hub(), "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placements/web",
                                "PlacementSatisfied", "False"));
  EXPECT_EQ(decided(), Names());
  ASSERT_EQ(must({"clusterset", "bind", "prod", "-n", "apps", "--context", "hub"}).code, 0);
  EXPECT_TRUE(eventually([] { return decided() == Names{"c2", "c3"}; })) << "the two with the most memory";
  EXPECT_TRUE(condition_becomes(fleet()->hub(), "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placements/web",
                                "PlacementSatisfied", "True"));
}

TEST_F(MainJob, C_TheApplicationRunsOnExactlyThoseTwo) {
  const std::string file = fleet()->folder().write("app.yaml", kApp);
  ASSERT_EQ(must({"work", "create", "web", "-f", file, "--placement", "apps/web", "--context", "hub"}).code, 0);
  EXPECT_TRUE(eventually([] { return serving() == Names{"c2", "c3"}; }, std::chrono::seconds(90)));
  EXPECT_TRUE(fleet()->spoke(1).get("/api/v1/namespaces/web").is_null());
  for (const char* cluster : {"c2", "c3"}) {
    const auto works = [&] {
      return fleet()->hub().get("/apis/work.open-cluster-management.io/v1/namespaces/" + std::string(cluster) + "/manifestworks");
    };
    ASSERT_EQ(list_at(works(), {"items"}).size(), 1U);
    const std::string path = "/apis/work.open-cluster-management.io/v1/namespaces/" + std::string(cluster) + "/manifestworks/" +
                             name_of(list_at(works(), {"items"}).front());
    EXPECT_TRUE(condition_becomes(fleet()->hub(), path, "Applied", "True"));
    EXPECT_TRUE(condition_becomes(fleet()->hub(), path, "Available", "True"));
  }
  for (const char* what : {"clusters", "clustersets", "placements", "works"}) {
    std::vector<std::string> args{"get", what, "--context", "hub"};
    if (std::string_view(what) == "placements") args.insert(args.end(), {"-n", "apps"});
    const Ran shown = must(args);
    EXPECT_NE(shown.out.find("NAME"), std::string::npos) << shown.both();
  }
}

TEST_F(MainJob, D_ADeletedObjectComesBackByWatch) {
  const auto path = "/api/v1/namespaces/web/configmaps/page";
  const std::string uid = uid_of(fleet()->spoke(3).get(path));
  ASSERT_FALSE(uid.empty());
  ASSERT_EQ(fleet()->spoke(3).request("DELETE", path).status, 200);
  EXPECT_TRUE(eventually(
      [&] {
        const Json page = fleet()->spoke(3).get(path);
        return !page.is_null() && uid_of(page) != uid;
      },
      std::chrono::seconds(5)));
}

TEST_F(MainJob, E_ADeadAgentsWorkMoves) {
  fleet()->kill_node(2);
  EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path(2), "ManagedClusterConditionAvailable", "Unknown"));
  EXPECT_TRUE(eventually([] {
    const Json cluster = fleet()->hub().get(cluster_path(2));
    for (const Json& taint : list_at(cluster, {"spec", "taints"})) {
      if (str(taint, {"key"}) == "cluster.open-cluster-management.io/unreachable") return true;
    }
    return false;
  }));
  EXPECT_TRUE(eventually([] { return decided() == Names{"c1", "c3"}; }));
  EXPECT_TRUE(eventually([] { return serving().contains("c1"); }, std::chrono::seconds(90)));
  EXPECT_TRUE(serving().contains("c3")) << "the other cluster is not touched";
}

TEST_F(MainJob, F_TheAgentReturns) {
  ASSERT_TRUE(fleet()->start_node(2));
  EXPECT_TRUE(
      condition_becomes(fleet()->hub(), cluster_path(2), "ManagedClusterConditionAvailable", "True", std::chrono::seconds(90)));
  // c2 has more memory than c1 again, and what was left on the cluster that lost the work is cleaned up.
  EXPECT_TRUE(eventually([] { return decided() == Names{"c2", "c3"}; }, std::chrono::seconds(60)));
  EXPECT_TRUE(eventually([] { return serving() == Names{"c2", "c3"}; }, std::chrono::seconds(90)));
}

TEST_F(MainJob, F_ADrainedClusterGivesItsWorksAwayAndTakesThemBack) {
  const std::vector<std::string> drain = {"cluster", "drain", "c3", "--context", "hub", "--timeout", "90s"};
  EXPECT_EQ(fleet()->run(drain).code, 1) << "refused in a script";
  ASSERT_EQ(decided(), (Names{"c2", "c3"}));
  std::vector<std::string> allowed = drain;
  allowed.emplace_back("--allow-removals");
  ASSERT_EQ(must(allowed).code, 0);
  EXPECT_FALSE(serving().contains("c3")) << "it has waited for that";
  EXPECT_TRUE(eventually([] { return serving() == Names{"c1", "c2"}; }, std::chrono::seconds(90)));
  const Ran described = fleet()->run({"cluster", "describe", "c3", "--context", "hub", "-o", "json"});
  ASSERT_EQ(described.code, 0) << described.both();
  EXPECT_TRUE(list_at(described.json(), {"works"}).empty()) << described.out;
  EXPECT_EQ(str(list_at(described.json(), {"taints"}).at(0), {"key"}), "fleetadm.io/unschedulable") << described.out;
  ASSERT_EQ(must({"cluster", "uncordon", "c3", "--context", "hub", "--allow-removals"}).code, 0);
  EXPECT_TRUE(eventually([] { return serving() == Names{"c2", "c3"}; }, std::chrono::seconds(90)));
}

TEST_F(MainJob, G_UnjoinAllAndCleanLeaveEverythingAsItWas) {
  ASSERT_EQ(must({"work", "delete", "web", "--placement", "apps/web", "--context", "hub", "--wait", "--allow-removals"}).code, 0);
  EXPECT_TRUE(eventually([] { return serving().empty(); }));
  ASSERT_EQ(must({"placement", "delete", "web", "-n", "apps", "--context", "hub"}).code, 0);
  ASSERT_EQ(must({"clusterset", "unbind", "prod", "-n", "apps", "--context", "hub"}).code, 0);
  for (int i = 1; i <= 3; ++i) {
    const std::string name = "c" + std::to_string(i);
    ASSERT_EQ(must({"unjoin", "--context", name, "--hub-context", "hub", "--yes"}).code, 0);
    EXPECT_EQ(inventory(fleet()->spoke(i)), before()[i]);
  }
  ASSERT_EQ(fleet()->hub().request("DELETE", "/api/v1/namespaces/apps").status, 200);
  EXPECT_TRUE(eventually([] { return fleet()->hub().get("/api/v1/namespaces/apps").is_null(); }));
  ASSERT_EQ(must({"clean", "--context", "hub", "--yes"}).code, 0);
  EXPECT_EQ(inventory(fleet()->hub()), before()[0]);
}

}  // namespace
}  // namespace fleetadm::testkit
