// A member that the hub dials beside one with an agent, and beside another hub that dials the same cluster under the same name;
// and what becomes of it when its CA is replaced. c1 is dialed by two hubs, of which c2 is the second; c3 has an agent.
#include <gtest/gtest.h>
#include <set>

#include "core/serve/http/server.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

const std::string kNeighbourDecisions = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placementdecisions";

class PushNeighbours : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(3, true));
    for (const char* context : {"c2", "hub"}) {
      const Ran init = run({"init", "--push", "--context", context, "--wait", "-o", "json"});
      ASSERT_EQ(init.code, 0) << init.both();
      ticket() = init.json();
    }
  }
  static Json& ticket() {
    static Json the_ticket;
    return the_ticket;
  }
  static Ran join_to(const std::string& hub, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{
        "join",   "--push",           "--context",       hub, "--member-context", "c1", "--cluster-name",
        "shared", "--allow-loopback", "--wait=available"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  static std::string namespace_of_hub(const KubeServer& hub) {
    return "/api/v1/namespaces/fleetadm-push-" + uid_of(hub.get("/api/v1/namespaces/kube-system")).substr(0, 8);
  }
  /// By all placements, or by one.
  static std::set<std::string> chosen(const std::string& placement = {}) {
    std::set<std::string> names;
    for (const Json& one : list_at(fleet()->hub().get(kNeighbourDecisions), {"items"})) {
      if (!placement.empty() && label_of(one, "cluster.open-cluster-management.io/placement") != placement) continue;
      for (const Json& decision : list_at(one, {"status", "decisions"})) names.insert(str(decision, {"clusterName"}));
    }
    return names;
  }
  static bool chosen_become(const std::set<std::string>& wanted, const std::string& placement = {}) {
    return eventually([&] { return chosen(placement) == wanted; }, std::chrono::seconds(90));
  }
  static void add_node(int spoke, const std::string& name, const std::string& cpu) {
    const KubeServer& member = fleet()->spoke(spoke);
    ASSERT_EQ(member.create("/api/v1/nodes", {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}}).status,
              201);
    const Json amounts{{"cpu", cpu}, {"memory", "8Gi"}, {"pods", "110"}};
    const Json condition{{"type", "Ready"}, {"status", "True"}, {"reason", "Test"}, {"message", ""}};
    const Json status{{"status", {{"capacity", amounts}, {"allocatable", amounts}, {"conditions", Json::array({condition})}}}};
    const auto set =
        member.request("PATCH", "/api/v1/nodes/" + name + "/status", dump_json(status), "application/merge-patch+json");
    ASSERT_EQ(set.status, 200) << set.body;
  }
};

TEST_F(PushNeighbours, A_TwoHubsDialTheSameCluster) {
  for (const char* hub : {"hub", "c2"}) {
    const Ran joined = join_to(hub);
    ASSERT_EQ(joined.code, 0) << joined.both();
  }
  work("shared", "of-first");
  work_of(fleet()->spoke(2), "shared", "of-second");
  EXPECT_TRUE(map_is(1, "of-first", true));
  EXPECT_TRUE(map_is(1, "of-second", true));
}

TEST_F(PushNeighbours, B_PlacementsSeeNoDifferenceToAnAgent) {
  const Ran joined =
      run({"join", "--context", "c3", "--cluster-name", "c3", "--hub-apiserver", str(ticket(), {"hub-apiserver"}), "--hub-token",
           str(ticket(), {"hub-token"}), "--ca-cert-hash", str(ticket(), {"ca-cert-hash"}), "--wait=registered"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  const Ran accepted = run({"accept", "--context", "hub", "c3", "--wait=available", "--yes"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  ASSERT_EQ(run({"clusterset", "bind", "global", "-n", "default", "--context", "hub"}).code, 0);
  const Ran placed = run({"placement", "create", "all", "-n", "default", "--context", "hub"});
  ASSERT_EQ(placed.code, 0) << placed.both();
  EXPECT_TRUE(chosen_become({"c3", "shared"}));
  ASSERT_NO_FATAL_FAILURE(set_holds("shared", "1s", "1s"));
  fleet()->spoke(1).stop_apiserver();
  EXPECT_TRUE(chosen_become({"c3"})) << "by the taint";
  const Status back = fleet()->spoke(1).start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(chosen_become({"c3", "shared"}));
}

TEST_F(PushNeighbours, B_PlacementsByAllocatableCompareBothKinds) {
  ASSERT_NO_FATAL_FAILURE(add_node(1, "large", "100"));
  const Ran placed = run({"placement", "create", "largest", "-n", "default", "-k", "1", "--prioritizer",
                          "ResourceAllocatableCPU=10", "--context", "hub"});
  ASSERT_EQ(placed.code, 0) << placed.both();
  EXPECT_TRUE(chosen_become({"shared"}, "largest")) << "the hub counts its nodes";
  ASSERT_NO_FATAL_FAILURE(add_node(3, "larger", "300"));
  EXPECT_TRUE(chosen_become({"c3"}, "largest")) << "its agent counts its nodes";
  ASSERT_NO_FATAL_FAILURE(add_node(1, "largest", "500"));
  EXPECT_TRUE(chosen_become({"shared"}, "largest"));
  const Ran gone = run({"placement", "delete", "largest", "-n", "default", "--context", "hub", "--yes"});
  EXPECT_EQ(gone.code, 0) << gone.both();
}

TEST_F(PushNeighbours, C_OneHubLeavesAndNothingOfTheOtherGoes) {
  const std::string of_first = namespace_of_hub(fleet()->hub());
  const std::string of_second = namespace_of_hub(fleet()->spoke(2));
  const Ran left = run({"unjoin", "--push", "--context", "c2", "--cluster-name", "shared", "--allow-removals"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(map_is(1, "of-second", false));
  EXPECT_TRUE(fleet()->spoke(1).eventually(
      of_second, [](const Json& ns) { return ns.is_null(); }, std::chrono::minutes(2)));
  EXPECT_TRUE(fleet()->spoke(2).get(cluster_path("shared")).is_null());
  EXPECT_TRUE(map_is(1, "of-first", true));
  EXPECT_FALSE(fleet()->spoke(1).get(of_first).is_null());
  ASSERT_NO_FATAL_FAILURE(work("shared", "afterwards"));
  EXPECT_TRUE(map_is(1, "afterwards", true)) << "its rights are there";
  EXPECT_EQ(condition(fleet()->hub(), cluster_path("shared"), "ManagedClusterConditionAvailable"), "True");
}

TEST_F(PushNeighbours, D_AReplacedCaIsToldAndJoiningAgainMendsIt) {
  const Status replaced = fleet()->spoke(1).replace_ca();
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_TRUE(ready_becomes("shared", "CertificateUntrusted")) << ready_reason("shared");
  EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path("shared"), "ManagedClusterConditionAvailable", "False"));
  const Ran mended = join_to("hub");
  ASSERT_EQ(mended.code, 0) << mended.both();
  EXPECT_TRUE(ready_becomes("shared", "ClusterReady"));
  const Json cluster = fleet()->hub().get(cluster_path("shared"));
  EXPECT_EQ(base64_decode(str(list_at(cluster, {"spec", "managedClusterClientConfigs"}).at(0), {"caBundle"})).value_or(""),
            fleet()->spoke(1).ca().certificate);
  ASSERT_NO_FATAL_FAILURE(work("shared", "with-another-ca"));
  EXPECT_TRUE(map_is(1, "with-another-ca", true));
}

TEST_F(PushNeighbours, D_AServersExpiredCertificateIsNamed) {
  ASSERT_NO_FATAL_FAILURE(set_holds("shared", "1s", "1s"));
  KubeServer& member = fleet()->spoke(1);
  pki::LeafOptions leaf;
  leaf.subject = {.common_name = "kube-apiserver", .organizations = {}, .organizational_units = {}};
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  leaf.backdate = std::chrono::hours(2);
  leaf.validity = std::chrono::hours(-1);
  const auto expired = pki::issue(member.ca(), leaf);
  ASSERT_TRUE(expired) << expired.error().message;
  member.stop_apiserver();
  {
    serve::HttpRuntime runtime(1);
    serve::ListenOptions listen;
    listen.port = member.port();
    listen.certificate = *expired;
    const auto old = serve::HttpListener::start(runtime, listen, [](const serve::HttpRequest&) {
      ADD_FAILURE() << "nobody may ask it anything";
      return serve::answer_text(200, "ok");
    });
    ASSERT_TRUE(old) << old.error().message;
    EXPECT_TRUE(ready_becomes("shared", "CertificateExpired")) << ready_reason("shared");
    EXPECT_TRUE(condition_becomes(fleet()->hub(), cluster_path("shared"), "ManagedClusterConditionAvailable", "False"));
  }
  const Status back = member.start_apiserver();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(ready_becomes("shared", "ClusterReady")) << ready_reason("shared");
}

TEST_F(PushNeighbours, E_AnExpiredCertificateJoinsNothing) {
  pki::LeafOptions leaf;
  leaf.subject = {.common_name = "admin", .organizations = {"system:masters"}, .organizational_units = {}};
  leaf.client = true;
  leaf.backdate = std::chrono::hours(2);
  leaf.validity = std::chrono::hours(-1);
  const auto expired = pki::issue(fleet()->spoke(2).ca(), leaf);
  ASSERT_TRUE(expired) << expired.error().message;
  Json kubeconfig = Json::parse(fleet()->spoke(2).kubeconfig());
  kubeconfig["users"][0]["user"] = {{"client-certificate-data", base64_encode(expired->certificate)},
                                    {"client-key-data", base64_encode(expired->key)}};
  const std::string file = fleet()->folder().write("expired.kubeconfig", dump_json(kubeconfig));
  const Ran refused =
      run({"join", "--push", "--context", "hub", "--member-kubeconfig", file, "--cluster-name", "late", "--allow-loopback"});
  EXPECT_EQ(refused.code, 4) << refused.both();
  EXPECT_NE(refused.err.find("member"), std::string::npos) << refused.both();
  EXPECT_EQ(refused.both().find(base64_encode(expired->key)), std::string::npos);
  EXPECT_TRUE(fleet()->hub().get(cluster_path("late")).is_null());
  EXPECT_TRUE(fleet()->hub().get(kPushSecrets + "late").is_null());
  EXPECT_TRUE(fleet()->spoke(2).get(namespace_of_hub(fleet()->hub())).is_null());
}

}  // namespace
}  // namespace fleetadm::testkit
