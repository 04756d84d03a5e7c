// The gateway on real servers: who may use a member through the hub, as whom the member sees them, and what becomes of it all
// when a gateway or an agent is gone.
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "tests/support/fleet_test.h"
#include "tests/support/https.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

constexpr std::string_view kGatewayMap = "/api/v1/namespaces/open-cluster-management-hub/configmaps/fleetadm-gateway";
constexpr std::string_view kGatewayPods =
    "/api/v1/namespaces/open-cluster-management-hub/pods?labelSelector=app%3Dfleetadm-gateway";
constexpr std::string_view kHubPods = "/api/v1/namespaces/open-cluster-management-hub/pods/";
constexpr std::string_view kRbacPath = "/apis/rbac.authorization.k8s.io/v1";
constexpr std::string_view kAgentRole =
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:fleetadm-agent-proxy";
constexpr std::string_view kProxiedMaps = "/api/v1/namespaces/default/configmaps";

Json cluster_binding(const std::string& name, const std::string& role, const Json& subject) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRoleBinding"},
          {"metadata", {{"name", name}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}},
          {"subjects", Json::array({subject})}};
}
Json user_subject(const std::string& name) {
  return {{"kind", "User"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", name}};
}
Json proxied_map(const std::string& name, const std::string& value) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}, {"data", {{"key", value}}}};
}

/// Somebody with a client certificate, or a token, of the hub.
struct Person {
  pki::KeyPair certificate{};
  std::string token{};
};

class Proxy : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    const Ran made = run({"init", "--context", "hub", "--gateway", "--wait", "-o", "json"});
    ASSERT_EQ(made.code, 0) << made.both();
    ASSERT_EQ(run(join_args(made.json())).code, 0);
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    ASSERT_EQ(hub()
                  .create(std::string(kRbacPath) + "/clusterroles",
                          {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                           {"kind", "ClusterRole"},
                           {"metadata", {{"name", "use-c1"}}},
                           {"rules", Json::array({{{"apiGroups", {"proxy.open-cluster-management.io"}},
                                                   {"resources", {"clusters/proxy"}},
                                                   {"resourceNames", {"c1"}},
                                                   {"verbs", {"*"}}}})}})
                  .status,
              201);
  }
  static const KubeServer& hub() { return fleet()->hub(); }
  static const KubeServer& member() { return fleet()->spoke(1); }

  static Person person(const std::string& name, const std::vector<std::string>& groups = {}) {
    pki::LeafOptions leaf;
    leaf.subject = {name, groups, {}};
    leaf.client = true;
    return {pki::issue(hub().ca(), leaf).value(), {}};
  }
  static HttpsAnswer ask(const Person& who, const std::string& path, const std::string& method = "GET", const Json& body = {},
                         const std::string& type = "application/json", const std::string& cluster = "c1") {
    const Json published = hub().get(kGatewayMap);
    return https({.url = str(published, {"data", "server"}) + "/clusters/" + cluster + "/proxy" + path,
                  .method = method,
                  .body = body.is_null() ? std::string() : dump_json(body),
                  .content_type = type,
                  .ca = str(published, {"data", "ca.crt"}),
                  .certificate = who.certificate.certificate,
                  .key = who.certificate.key,
                  .token = who.token,
                  .timeout_seconds = 20});
  }
  static HttpsAnswer ask_with(const Person& who, const std::string& path, std::vector<std::string> headers) {
    const Json published = hub().get(kGatewayMap);
    return https({.url = str(published, {"data", "server"}) + "/clusters/c1/proxy" + path,
                  .ca = str(published, {"data", "ca.crt"}),
                  .certificate = who.certificate.certificate,
                  .key = who.certificate.key,
                  .token = who.token,
                  .timeout_seconds = 20,
                  .headers = std::move(headers)});
  }
  /// Rights take a moment to arrive: the agent's at the member, and a refusal is remembered for a few seconds.
  static testing::AssertionResult becomes(int status, const std::function<HttpsAnswer()>& asked,
                                          Duration patience = seconds(60)) {
    HttpsAnswer last;
    if (eventually([&] { return (last = asked()).status == status; }, patience)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "still " << last.status << ": " << last.body;
  }
  static void grant_on_hub(const std::string& name, const Json& subject) {
    ASSERT_EQ(hub().create(std::string(kRbacPath) + "/clusterrolebindings", cluster_binding(name, "use-c1", subject)).status,
              201);
  }
  static void grant_at_member(const std::string& name, const std::string& role, const Json& subject) {
    ASSERT_EQ(member().create(std::string(kRbacPath) + "/clusterrolebindings", cluster_binding(name, role, subject)).status, 201);
  }
};

TEST_F(Proxy, A_WhoHasNoRightOnTheHubGetsNoFurther) {
  const auto from = member().audit_position();
  const Person alice = person("alice");
  ASSERT_TRUE(becomes(403, [&] { return ask(alice, std::string(kProxiedMaps)); }));
  const Json said = parse_json(ask(alice, std::string(kProxiedMaps)).body).value_or(Json());
  EXPECT_EQ(str(said, {"kind"}), "Status");
  EXPECT_EQ(num(said, {"code"}), 403);
  EXPECT_EQ(ask({}, std::string(kProxiedMaps)).status, 401);
  EXPECT_EQ(ask({{}, "not-a-token"}, std::string(kProxiedMaps)).status, 401);
  EXPECT_TRUE(
      member()
          .audit_since(from, [](const AuditEntry& one) { return one.acting() == "alice" && one.uri.starts_with(kProxiedMaps); })
          .empty());
  EXPECT_TRUE(member().get(kAgentRole).is_null()) << "nobody may use it, so the agent may act as nobody";
}

TEST_F(Proxy, B_TheMembersOwnRulesJudgeTheCaller) {
  const Person alice = person("alice", {"devs"});
  grant_on_hub("alice-uses-c1", user_subject("alice"));
  ASSERT_TRUE(becomes(403, [&] {
    HttpsAnswer answer = ask(alice, std::string(kProxiedMaps));
    if (answer.body.find("configmaps is forbidden: User \\\"alice\\\"") == std::string::npos) answer.status = 0;
    return answer;
  })) << "the member says so";
  grant_at_member("alice-edits", "edit", user_subject("alice"));
  ASSERT_TRUE(becomes(200, [&] { return ask(alice, std::string(kProxiedMaps)); }));

  const auto from = member().audit_position();
  ASSERT_EQ(ask(alice, std::string(kProxiedMaps), "POST", proxied_map("proxied", "one")).status, 201);
  const std::string path = std::string(kProxiedMaps) + "/proxied";
  EXPECT_EQ(ask(alice, path, "PATCH", {{"data", {{"key", "two"}}}}, "application/merge-patch+json").status, 200);
  EXPECT_EQ(
      ask(alice, path + "?fieldManager=me&force=true", "PATCH", proxied_map("proxied", "three"), "application/apply-patch+yaml")
          .status,
      200);
  EXPECT_EQ(str(member().get(path), {"data", "key"}), "three");
  EXPECT_EQ(ask(alice, std::string(kProxiedMaps) + "?dryRun=All", "POST", proxied_map("dry", "one")).status, 201);
  EXPECT_TRUE(member().get(std::string(kProxiedMaps) + "/dry").is_null()) << "a dry run is one";
  const HttpsAnswer watched =
      ask(alice, std::string(kProxiedMaps) + "?watch=1&timeoutSeconds=2&fieldSelector=metadata.name%3Dproxied");
  EXPECT_EQ(watched.status, 200);
  EXPECT_NE(watched.body.find("\"ADDED\""), std::string::npos) << watched.body;
  EXPECT_EQ(ask(alice, path, "DELETE").status, 200);
  EXPECT_EQ(ask(alice, path).status, 404) << "the member's own answer";
  EXPECT_EQ(ask(alice, "/api/v1/nodes").status, 403) << "edit is not everything";

  const auto entries = member().audit_since(from, [](const AuditEntry& one) { return one.uri.starts_with(kProxiedMaps); });
  ASSERT_FALSE(entries.empty());
  for (const AuditEntry& one : entries) {
    EXPECT_EQ(one.acting(), "alice") << one.verb << " " << one.uri;
    if (!KubeServer::on_sandbox()) {
      EXPECT_EQ(one.user, "system:serviceaccount:open-cluster-management-agent:fleetadm-agent") << one.verb << " " << one.uri;
    }
  }
}

TEST_F(Proxy, C_TheAgentMayActAsThoseWhoAreGrantedAndNobodyElse) {
  const Json role = member().get(kAgentRole);
  std::set<std::string> users;
  for (const Json& rule : list_at(role, {"rules"})) {
    EXPECT_FALSE(list_at(rule, {"resourceNames"}).empty()) << dump_json(rule);
    if (string_list_at(rule, {"resources"}) == std::vector<std::string>{"users"}) {
      for (const std::string& one : string_list_at(rule, {"resourceNames"})) users.insert(one);
    }
  }
  EXPECT_EQ(users, std::set<std::string>{"alice"}) << dump_json(role);
  EXPECT_EQ(ask(person("bob"), std::string(kProxiedMaps)).status, 403);
  EXPECT_EQ(ask(person("alice"), "/version", "GET", {}, "application/json", "c2").status, 403) << "a right for c1 alone";
  // Who is everything on the hub is nobody at a member.
  EXPECT_EQ(ask(person("root", {"system:masters"}), std::string(kProxiedMaps)).status, 403);
  EXPECT_EQ(ask(person("system:kube-controller-manager", {"system:masters"}), std::string(kProxiedMaps)).status, 403);
}

TEST_F(Proxy, D_AccountsOfTheHubHaveNamesOfTheirOwn) {
  ASSERT_EQ(hub()
                .create("/api/v1/namespaces/default/serviceaccounts",
                        {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "ci"}}}})
                .status,
            201);
  grant_on_hub("ci-uses-c1", {{"kind", "ServiceAccount"}, {"name", "ci"}, {"namespace", "default"}});
  // The member's account of that name has every right, which is nothing to the hub's.
  grant_at_member("own-ci", "cluster-admin", {{"kind", "ServiceAccount"}, {"name", "ci"}, {"namespace", "default"}});
  const auto made = hub().request("POST", "/api/v1/namespaces/default/serviceaccounts/ci/token",
                                  R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const Person ci{{}, str(made.json(), {"status", "token"})};
  ASSERT_TRUE(becomes(403, [&] {
    HttpsAnswer answer = ask(ci, std::string(kProxiedMaps));
    if (answer.body.find("cluster:hub:system:serviceaccount:default:ci") == std::string::npos) answer.status = 0;
    return answer;
  }));
  grant_at_member("hub-ci", "view", user_subject("cluster:hub:system:serviceaccount:default:ci"));
  const auto from = member().audit_position();
  ASSERT_TRUE(becomes(200, [&] { return ask(ci, std::string(kProxiedMaps)); }));
  EXPECT_EQ(ask(ci, std::string(kProxiedMaps), "POST", proxied_map("no", "x")).status, 403);
  EXPECT_EQ(read_file(member().audit_file()).find(ci.token), std::string::npos);
  EXPECT_FALSE(
      member()
          .audit_since(from, [](const AuditEntry& one) { return one.acting() == "cluster:hub:system:serviceaccount:default:ci"; })
          .empty());
}

TEST_F(Proxy, E_WhoMayImpersonateOnTheHubActsAsThemAtTheMember) {
  const Person dora = person("dora");
  const auto as = [&](std::vector<std::string> headers) { return ask_with(dora, std::string(kProxiedMaps), std::move(headers)); };
  ASSERT_EQ(as({"Impersonate-User: alice"}).status, 403) << "dora may impersonate nobody";
  ASSERT_EQ(hub()
                .create(std::string(kRbacPath) + "/clusterroles", {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                                                   {"kind", "ClusterRole"},
                                                                   {"metadata", {{"name", "act-as-alice"}}},
                                                                   {"rules", Json::array({{{"apiGroups", {""}},
                                                                                           {"resources", {"users"}},
                                                                                           {"resourceNames", {"alice"}},
                                                                                           {"verbs", {"impersonate"}}}})}})
                .status,
            201);
  ASSERT_EQ(
      hub()
          .create(std::string(kRbacPath) + "/clusterrolebindings", cluster_binding("dora", "act-as-alice", user_subject("dora")))
          .status,
      201);
  const auto from = member().audit_position();
  ASSERT_TRUE(becomes(200, [&] { return as({"Impersonate-User: alice"}); }));
  EXPECT_EQ(ask(dora, std::string(kProxiedMaps)).status, 403) << "for herself she may not use the cluster";
  EXPECT_EQ(as({"Impersonate-User: bob"}).status, 403);
  EXPECT_EQ(as({"Impersonate-User: alice", "Impersonate-Group: devs"}).status, 403);
  EXPECT_EQ(as({"Impersonate-Group: devs"}).status, 400);
  for (const AuditEntry& one :
       member().audit_since(from, [](const AuditEntry& entry) { return entry.uri.starts_with(kProxiedMaps); }))
    EXPECT_EQ(one.acting(), "alice") << one.uri;
}

TEST_F(Proxy, F_AGatewayThatIsReplacedServesAgain) {
  const Person alice = person("alice");
  ASSERT_TRUE(becomes(200, [&] { return ask(alice, std::string(kProxiedMaps)); }));
  const Json pods = hub().get(kGatewayPods);
  ASSERT_EQ(list_at(pods, {"items"}).size(), 1U);
  const std::string name = name_of(list_at(pods, {"items"}).front());
  ASSERT_LT(hub().request("DELETE", std::string(kHubPods) + name + "?gracePeriodSeconds=1").status, 300);
  ASSERT_TRUE(eventually(
      [&] {
        const Json now = hub().get(kGatewayPods);
        const Json& items = list_at(now, {"items"});
        return !items.empty() && name_of(items.front()) != name;
      },
      seconds(60)));
  EXPECT_TRUE(becomes(200, [&] { return ask(alice, std::string(kProxiedMaps)); }));
}

TEST_F(Proxy, G_ARightThatIsTakenAwayIsGone) {
  const Person alice = person("alice");
  ASSERT_TRUE(becomes(200, [&] { return ask(alice, std::string(kProxiedMaps)); }));
  ASSERT_EQ(hub().request("DELETE", std::string(kRbacPath) + "/clusterrolebindings/alice-uses-c1").status, 200);
  EXPECT_TRUE(becomes(
      403, [&] { return ask(alice, std::string(kProxiedMaps)); }, seconds(30)));
  EXPECT_TRUE(
      member().eventually(kAgentRole, [](const Json& role) { return dump_json(role).find("\"alice\"") == std::string::npos; }));
  grant_on_hub("alice-uses-c1", user_subject("alice"));
  EXPECT_TRUE(becomes(200, [&] { return ask(alice, std::string(kProxiedMaps)); }));
}

TEST_F(Proxy, H_WithoutItsAgentAClusterIsSaidToBeAway) {
  const Person alice = person("alice");
  ASSERT_TRUE(becomes(200, [&] { return ask(alice, std::string(kProxiedMaps)); }));
  fleet()->stop_node(1);
  EXPECT_TRUE(becomes(503, [&] { return ask(alice, std::string(kProxiedMaps)); }));
  ASSERT_TRUE(fleet()->start_node(1));
  EXPECT_TRUE(becomes(
      200, [&] { return ask(alice, std::string(kProxiedMaps)); }, seconds(90)));
}

TEST_F(Proxy, I_CleanTakesTheGatewayAway) {
  const Ran left = run({"unjoin", "--context", "c1", "--hub-context", "hub", "--cluster-name", "c1", "--yes"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(member().get(kAgentRole).is_null());
  const Ran cleaned = run({"clean", "--context", "hub", "--yes"});
  ASSERT_EQ(cleaned.code, 0) << cleaned.both();
  for (const std::string& one : inventory(hub())) EXPECT_EQ(one.find("fleetadm-gateway"), std::string::npos) << one;
}

}  // namespace
}  // namespace fleetadm::testkit
