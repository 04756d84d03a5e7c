// cluster-proxy between upstream's programs and ours: our agent under upstream's hub, in the place of proxy-agent, add-on agent
// and service proxy.
#include "core/api/cluster_proxy.h"

#include <future>
#include <memory>

#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/konnectivity/front_client.h"
#include "core/serve/http/server.h"
#include "tests/interop/addon_fleet.h"
#include "tests/interop/proxy_peers.h"
#include "tests/support/faulty_relay.h"

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
  kube::Client through_user_server(const std::string& token, const std::string& cluster = "c1") {
    kube::RestConfig config;
    config.server = proxies_->user_server() + "/" + cluster;
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
    return entry.acting() == "cluster:hub:system:serviceaccount:default:caller" && entry.resource == "configmaps";
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

/// Our gateway in the place of the proxy server, on our hub with upstream's manager of the add-on.
class ProxyServerPeers : public ProxyAgentPeers {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(start_our_hub_with_manager());
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(start_gateway());
    const Status served = proxies_->start_user_server(std::string(kInstallNamespace));
    ASSERT_TRUE(served) << served.error().message;
    ASSERT_NO_FATAL_FAILURE(join_as({"--agent-arg=--cluster-proxy=true"}));
  }
  void start_our_hub_with_manager() {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!peers_folder({"cluster-proxy-manager", "cluster-proxy", "proxy-agent"}))
      GTEST_SKIP()
          << "FLEETADM_PEERS names no folder with upstream's programs (cluster-proxy-manager, cluster-proxy, proxy-agent)";
    ASSERT_NO_FATAL_FAILURE(begin(1));
    init_ = fleet_->run({"init", "--context", "hub", "--gateway", "--wait", "-o", "json"});
    ASSERT_EQ(init_.code, 0) << init_.both();
    const std::string deployment = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-gateway";
    ASSERT_EQ(fleet_->hub().request("DELETE", deployment).status, 200);
    proxies_.emplace(fleet_->folder(), fleet_->hub());
    const Status managed = proxies_->start_manager(std::string(kInstallNamespace));
    ASSERT_TRUE(managed) << managed.error().message;
  }
  /// With a name that agents can resolve.
  void join_as(const std::vector<std::string>& more) {
    const Json ticket = init_.json();
    std::vector<std::string> words = {"join",
                                      "--context",
                                      "c1",
                                      "--cluster-name",
                                      kCluster,
                                      "--hub-apiserver",
                                      str(ticket, {"hub-apiserver"}),
                                      "--hub-token",
                                      str(ticket, {"hub-token"}),
                                      "--ca-cert-hash",
                                      str(ticket, {"ca-cert-hash"}),
                                      "--wait"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran joined = fleet_->run(words);
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = fleet_->run({"accept", kCluster, "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    enable(kCluster, kProxyAddon);
  }
  void TearDown() override {
    runtime_.stop();
    gateway_.reset();
    ProxyAgentPeers::TearDown();
  }
  /// Where a gateway of konnectivity's listens.
  struct Ports {
    std::string name;
    int clients;
    int agents;
  };
  std::string log_file(const std::string& name) const { return (fleet_->folder().path() / (name + ".log")).string(); }
  void start_gateway() {
    ASSERT_NO_FATAL_FAILURE(
        start_gateway({"gateway", proxies_->front_port(), proxies_->agent_port()}, fleet_->hub().kubeconfig_file(), gateway_));
  }
  void start_gateway(const Ports& ports, const std::string& kubeconfig, std::optional<sandbox::Child>& gateway) {
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    const auto at = [](int port) { return "127.0.0.1:" + std::to_string(port); };
    spec.args = {"gateway",
                 "run",
                 "--kubeconfig",
                 kubeconfig,
                 "--address",
                 at(free_port()),
                 "--tunnel-address",
                 at(free_port()),
                 "--accept-konnectivity",
                 "--konnectivity-address",
                 at(ports.clients),
                 "--konnectivity-agent-address",
                 at(ports.agents)};
    spec.environment = {"HOME=" + fleet_->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = log_file(ports.name);
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    gateway.emplace(std::move(*child));
  }
  std::string gateway_log() const { return read_file(log_file("gateway")); }
  /// Whether a client of konnectivity's is connected to a target; else why not.
  konnectivity::FrontOptions front_at(int port, const pki::KeyPair& certificate) const {
    konnectivity::FrontOptions front;
    front.host = "127.0.0.1";
    front.port = std::to_string(port);
    front.ca = proxies_->ca();
    front.certificate = certificate;
    return front;
  }
  std::string dial(const std::string& target, const pki::KeyPair& certificate) {
    std::promise<std::string> outcome;
    runtime_.on_io_thread([&] {
      const auto front = front_at(proxies_->front_port(), certificate);
      konnectivity::dial_through_front(runtime_.executor(), front, target, [&](Result<boost::asio::ip::tcp::socket> socket) {
        outcome.set_value(socket ? "connected" : socket.error().message);
      });
    });
    return outcome.get_future().get();
  }
  pki::KeyPair pair_at_member(const std::string& name) {
    const Json secret = fleet_->spoke(1).get("/api/v1/namespaces/" + std::string(kInstallNamespace) + "/secrets/" + name);
    return {base64_decode(str(secret, {"data", "tls.crt"})).value_or(""),
            base64_decode(str(secret, {"data", "tls.key"})).value_or("")};
  }

  static constexpr const char* kCluster = "localhost";
  Ran init_;
  std::optional<sandbox::Child> gateway_;
  serve::HttpRuntime runtime_{0};
};

TEST_F(ProxyServerPeers, UpstreamsUserServerClientsAndAgentsMeetAtOurGateway) {
  // The user server, our gateway, our agent.
  const std::string of_member = account_token(fleet_->spoke(1), "local");
  EXPECT_EQ(answered(through_user_server(of_member, kCluster)), 403) << what_happened() << gateway_log();
  // An agent of upstream's: what it reaches, ours would refuse.
  const pki::KeyPair tunnel = pair_at_member(std::string(api::kClusterProxyTunnelSecret));
  const pki::KeyPair client{proxies_->secret("proxy-client", "tls.crt"), proxies_->secret("proxy-client", "tls.key")};
  const std::string target = std::string(kCluster) + ":" + std::to_string(fleet_->spoke(1).port());
  EXPECT_NE(dial(target, client), "connected");
  ASSERT_TRUE(proxies_->start_agent("host=" + std::string(kCluster), tunnel));
  std::string outcome;
  EXPECT_TRUE(eventually([&] { return (outcome = dial(target, client)) == "connected"; })) << outcome << gateway_log();
  // Each door is for its own.
  EXPECT_NE(dial(target, tunnel), "connected");
  ASSERT_TRUE(proxies_->start_agent("host=" + std::string(kCluster), client));
  EXPECT_TRUE(eventually([&] { return gateway_log().find("issued to no cluster that is known") != std::string::npos; }))
      << gateway_log();
  ASSERT_TRUE(proxies_->start_agent("host=another", tunnel));
  EXPECT_TRUE(eventually([&] { return gateway_log().find("it announces") != std::string::npos; })) << gateway_log();
  // What was issued is known after a restart, though the hub has forgotten the request.
  proxies_->stop_agent();
  gateway_.reset();
  const std::string requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  ASSERT_EQ(fleet_->hub().request("DELETE", requests).status, 200);
  ASSERT_NO_FATAL_FAILURE(start_gateway());
  EXPECT_EQ(answered(through_user_server(of_member, kCluster)), 403) << gateway_log();
  // A cluster that is no longer accepted is cut off.
  const Ran denied = fleet_->run({"cluster", "deny", kCluster, "--context", "hub", "--yes"});
  ASSERT_EQ(denied.code, 0) << denied.both();
  EXPECT_TRUE(eventually([&] {
    const auto listed = through_user_server(of_member, kCluster).list(kube::resources::config_maps(), "default");
    return !listed && listed.error().code != 403;
  })) << gateway_log();
}

/// Two replicas as `init --accept-konnectivity` deploys them, with the rights that they have there, and nothing but upstream's
/// own programs around them.
class ProxyServerReplicas : public ProxyServerPeers {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(start_our_hub_with_manager());
    if (IsSkipped()) return;
    const Ran again = fleet_->run({"init", "--context", "hub", "--gateway", "--accept-konnectivity", "--gateway-replicas", "2"});
    ASSERT_EQ(again.code, 0) << again.both();
    const std::string deployment = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-gateway";
    ASSERT_EQ(fleet_->hub().request("DELETE", deployment).status, 200);
    const auto token =
        fleet_->hub().request("POST", "/api/v1/namespaces/open-cluster-management-hub/serviceaccounts/fleetadm-gateway/token",
                              R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    ASSERT_EQ(token.status, 201) << token.body;
    kubeconfig_ =
        fleet_->folder().write("gateway.kubeconfig", fleet_->hub().kubeconfig_with_token(str(token.json(), {"status", "token"})));
    agents_way_ = std::make_unique<FaultyRelay>(
        one_.agents,
        FaultyRelay::Endpoint{boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(proxies_->agent_port())});
    ASSERT_NO_FATAL_FAILURE(start_gateway(one_, kubeconfig_, gateway_));
    ASSERT_NO_FATAL_FAILURE(join_as({}));
  }
  void TearDown() override {
    runtime_.on_io_thread([this] {
      for (const auto& way : ways_) way->close();
      ways_.clear();
    });
    other_gateway_.reset();
    ProxyServerPeers::TearDown();
  }
  /// Requests to the cluster's API server on connections through a replica's front end.
  std::shared_ptr<proxy::Http1Hop> way_through(const Ports& replica, const pki::KeyPair& client) {
    const KubeServer& member = fleet_->spoke(1);
    proxy::Http1HopOptions options;
    options.server = member.url();
    options.ca = member.ca().certificate;
    options.credentials =
        kube::static_credentials({.client_certificate = member.admin().certificate, .client_key = member.admin().key});
    const std::string target = std::string(kCluster) + ":" + std::to_string(member.port());
    options.connect = [this, front = front_at(replica.clients, client), target](auto done) {
      konnectivity::dial_through_front(runtime_.executor(), front, target, std::move(done));
    };
    auto hop = proxy::Http1Hop::make(runtime_.executor(), std::move(options));
    EXPECT_TRUE(hop) << hop.error().message;
    ways_.push_back(*hop);
    return *hop;
  }
  /// What a GET is answered with; 0: with an error.
  int ask(const std::shared_ptr<proxy::Http1Hop>& way) {
    std::promise<int> status;
    runtime_.on_io_thread([&] {
      serve::HttpRequest request;
      request.method = "GET";
      request.path = "/version";  // a small answer, whose connection is kept
      way->send(std::move(request), [&](Result<serve::HttpResponse> answer) { status.set_value(answer ? answer->status : 0); });
    });
    return status.get_future().get();
  }
  std::size_t connections_made(const std::shared_ptr<proxy::Http1Hop>& way) {
    std::size_t made = 0;
    runtime_.on_io_thread([&] { made = way->counts().made; });
    return made;
  }
  std::string logs() const {
    return read_file(log_file(one_.name)) + read_file(log_file(other_.name)) + proxies_->log("upstream-proxy-agent") +
           proxies_->log("upstream-proxy-manager");
  }

  const Ports one_{"gateway", free_port(), free_port()};
  const Ports other_{"other-gateway", free_port(), free_port()};
  std::string kubeconfig_;
  std::unique_ptr<FaultyRelay> agents_way_;  // as a Service
  std::optional<sandbox::Child> other_gateway_;
  std::vector<std::shared_ptr<proxy::Http1Hop>> ways_;
};

TEST_F(ProxyServerReplicas, UpstreamsAgentsReachEachReplicaAndRequestsGoOnWhenOneStops) {
  // The certificate that the cluster has is of the gateway's making, though the manager would have signed it.
  pki::KeyPair tunnel;
  ASSERT_TRUE(eventually(
      [&] {
        tunnel = pair_at_member(std::string(api::kClusterProxyTunnelSecret));
        return !tunnel.certificate.empty();
      },
      seconds(90)))
      << logs();
  const auto issued = pki::parse_certificates(tunnel.certificate);
  ASSERT_TRUE(issued) << issued.error().message;
  EXPECT_EQ(issued->front().subject.common_name, api::kProxyAgentUser);
  EXPECT_EQ(issued->front().dns_names, std::vector<std::string>{});
  EXPECT_EQ(issued->front().usages, (std::vector<std::string>{"digital signature", "key encipherment", "client auth"}));

  ASSERT_TRUE(proxies_->start_agent("host=" + std::string(kCluster), tunnel));
  const pki::KeyPair client{proxies_->secret("proxy-client", "tls.crt"), proxies_->secret("proxy-client", "tls.key")};
  const auto first = way_through(one_, client);
  ASSERT_TRUE(eventually([&] { return ask(first) == 200; }, seconds(60))) << logs();

  // Another replica comes: the agent is told, and is at both.
  runtime_.on_io_thread([&] { first->close(); });  // an agent that is busy is not sent to look
  agents_way_->aim_in_turn({one_.agents, other_.agents});
  ASSERT_NO_FATAL_FAILURE(start_gateway(other_, kubeconfig_, other_gateway_));
  const auto second = way_through(other_, client);
  ASSERT_TRUE(eventually([&] { return ask(second) == 200; }, seconds(90))) << logs();
  const auto kept = way_through(one_, client);
  ASSERT_TRUE(eventually([&] { return ask(kept) == 200; }, seconds(90))) << logs();

  // The first stops: what runs on it has its time, and nothing that goes through the other notices.
  const std::size_t made = connections_made(kept);
  agents_way_->aim(other_.agents);
  gateway_->terminate();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(ask(second), 200) << "round " << i << logs();
    EXPECT_EQ(ask(way_through(other_, client)), 200) << "on a new connection, round " << i << logs();
    ASSERT_EQ(ask(kept), 200) << "round " << i << logs();
  }
  EXPECT_EQ(connections_made(second), 1U);
  EXPECT_EQ(connections_made(kept), made);
  EXPECT_TRUE(gateway_->running());
  runtime_.on_io_thread([&] { kept->close(); });
  EXPECT_TRUE(gateway_->wait(seconds(20))) << "it waits for nobody else" << logs();
  EXPECT_EQ(ask(second), 200);

  // And when it is back, the agent is at both again.
  agents_way_->aim_in_turn({one_.agents, other_.agents});
  ASSERT_NO_FATAL_FAILURE(start_gateway(one_, kubeconfig_, gateway_));
  const auto again = way_through(one_, client);
  EXPECT_TRUE(eventually([&] { return ask(again) == 200; }, seconds(90))) << logs();
}

}  // namespace
}  // namespace fleetadm::testkit
