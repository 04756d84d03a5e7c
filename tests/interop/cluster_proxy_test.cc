// cluster-proxy between upstream's programs and ours: our agent under upstream's hub, in the place of proxy-agent, add-on agent
// and service proxy.
#include "tests/interop/addon_fleet.h"
#include "tests/interop/proxy_peers.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

class ProxyAgentPeers : public AddonFleet {
 protected:
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!peers_folder({"addon", "cluster-proxy-manager", "cluster-proxy", "proxy-server"}))
      GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's programs (addon, cluster-proxy-manager, cluster-proxy, "
                      "proxy-server)";
    ASSERT_NO_FATAL_FAILURE(start_upstreams_hub());
    ASSERT_NO_FATAL_FAILURE(start_cluster_proxy());
  }
  void TearDown() override {
    proxies_.reset();
    peers_.reset();
  }
  void start_upstreams_hub() {
    ASSERT_NO_FATAL_FAILURE(begin(1));
    const Ran init = fleet_->run({"init", "--context", "hub", "--image", "example.invalid/not-run:1", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    ASSERT_EQ(
        fleet_->hub().request("DELETE", "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-hub").status,
        200);
    ASSERT_TRUE(peers_->start_hub(fleet_->hub()));
    const Status manager = peers_->start_addon_manager(fleet_->hub());
    ASSERT_TRUE(manager) << manager.error().message;
    const Json ticket = init.json();
    const Ran joined = fleet_->run({"join", "--context", "c1", "--cluster-name", "c1", "--hub-apiserver",
                                    str(ticket, {"hub-apiserver"}), "--hub-token", str(ticket, {"hub-token"}), "--ca-cert-hash",
                                    str(ticket, {"ca-cert-hash"}), "--agent-arg=--cluster-proxy=true", "--wait"});
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = fleet_->run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  }
  void start_cluster_proxy() {
    proxies_.emplace(fleet_->folder(), fleet_->hub());
    const Status managed = proxies_->start_manager(std::string(kInstallNamespace));
    ASSERT_TRUE(managed) << managed.error().message;
    const Status served = proxies_->start_servers(std::string(kInstallNamespace));
    ASSERT_TRUE(served) << served.error().message;
    enable("c1", kProxyAddon);
  }
  std::string account_token(const KubeServer& server, const std::string& name) {
    const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
    const auto made = server.create(accounts, {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", name}}}});
    EXPECT_TRUE(made.status == 201 || made.status == 409) << made.body;
    const auto token = server.request("POST", accounts + "/" + name + "/token",
                                      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    EXPECT_EQ(token.status, 201) << token.body;
    return str(token.json(), {"status", "token"});
  }
  kube::Client through_user_server(const std::string& token) {
    kube::RestConfig config;
    config.server = proxies_->user_server() + "/c1";
    config.ca_data = proxies_->ca();
    config.tls_server_name = proxies_->user_server_name();
    kube::Credentials credentials;
    credentials.token = token;
    config.credentials = kube::static_credentials(credentials);
    return kube::Client::connect(config).with_timeout(seconds(3));
  }
  void bind_at_member(const char* name, const Json& subject) {
    const auto bound = fleet_->spoke(1).create(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {{"apiVersion", "rbac.authorization.k8s.io/v1"},
         {"kind", "ClusterRoleBinding"},
         {"metadata", {{"name", name}}},
         {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "view"}}},
         {"subjects", Json::array({subject})}});
    ASSERT_EQ(bound.status, 201) << bound.body;
  }
  std::string what_happened() {
    return dump_json(now("c1", kProxyAddon)) + proxies_->log("upstream-proxy-server") + proxies_->log("upstream-user-server") +
           proxies_->log("upstream-proxy-manager");
  }
  /// The first answer that is the member's.
  int answered(const kube::Client& client) {
    int code = 0;
    eventually(
        [&] {
          const auto listed = client.list(kube::resources::config_maps(), "default");
          code = listed ? 200 : listed.error().code;
          return code == 200 || code == 401 || code == 403;
        },
        seconds(90), std::chrono::milliseconds(200));
    return code;
  }

  std::optional<ProxyPeers> proxies_;
};

TEST_F(ProxyAgentPeers, OurAgentTakesThePlaceOfUpstreams) {
  const std::string of_hub = account_token(fleet_->hub(), "caller");
  bind_at_member("caller", {{"kind", "User"},
                            {"apiGroup", "rbac.authorization.k8s.io"},
                            {"name", "cluster:hub:system:serviceaccount:default:caller"}});
  const auto since = fleet_->spoke(1).audit_position();
  const auto hub_since = fleet_->hub().audit_position();
  ASSERT_EQ(answered(through_user_server(of_hub)), 200) << what_happened();
  EXPECT_TRUE(told("c1", kProxyAddon, "RegistrationApplied", "True")) << now("c1", kProxyAddon);
  EXPECT_TRUE(told("c1", kProxyAddon, "Available", "True")) << now("c1", kProxyAddon) << "by our agent's lease";

  // A caller of the hub by its own name, whose token the member has not seen.
  const auto acted = [&](const AuditEntry& entry) {
    const std::string& as = entry.impersonated_user.empty() ? entry.user : entry.impersonated_user;  // a sandbox tells only whom
    return as == "cluster:hub:system:serviceaccount:default:caller" && entry.resource == "configmaps";
  };
  EXPECT_TRUE(eventually([&] { return !fleet_->spoke(1).audit_since(since, acted).empty(); }));
  for (const AuditEntry& entry : fleet_->spoke(1).audit_since(since)) {
    EXPECT_FALSE(entry.resource == "tokenreviews" && entry.code == 201) << "the member is asked about no token of the hub";
    if (entry.user != "system:serviceaccount:open-cluster-management-agent:fleetadm-agent") continue;
    EXPECT_TRUE(entry.code < 400 || entry.code == 404 || entry.code == 409) << entry.verb << " " << entry.uri << entry.response;
  }

  // An account of the member, by its token, and one that is nobody.
  const std::string of_member = account_token(fleet_->spoke(1), "local");
  EXPECT_EQ(answered(through_user_server(of_member)), 403) << "known there, and allowed nothing";
  bind_at_member("local", {{"kind", "ServiceAccount"}, {"name", "local"}, {"namespace", "default"}});
  EXPECT_TRUE(eventually([&] { return answered(through_user_server(of_member)) == 200; }));
  EXPECT_EQ(answered(through_user_server("nobodys-token")), 401);
  EXPECT_EQ(answered(through_user_server(account_token(fleet_->hub(), "stranger"))), 403) << "the member's own rules judge";

  // It does at the hub what the add-on's agent does, and is refused nothing.
  for (const AuditEntry& entry : fleet_->hub().audit_since(hub_since)) {
    if (entry.user != "open-cluster-management:cluster-proxy:addon-agent") continue;
    EXPECT_EQ(entry.resource, "tokenreviews") << entry.verb << " " << entry.uri;
    EXPECT_EQ(entry.code, 201) << entry.response;
  }

  // What is taken away is gone.
  ASSERT_EQ(fleet_->hub().request("DELETE", addon_path("c1", kProxyAddon)).status, 200);
  EXPECT_TRUE(eventually(
      [&] {
        const auto listed = through_user_server(of_member).list(kube::resources::config_maps(), "default");
        return !listed && listed.error().code != 403;
      },
      seconds(90)));
}

}  // namespace
}  // namespace fleetadm::testkit
