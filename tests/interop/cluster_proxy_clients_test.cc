// The commands for clusters through upstream's cluster-proxy, as its programs run: konnectivity's proxy-server and proxy-agent,
// and the user server of the hub. The service proxy at the cluster, which shares a port with that one, is the test's own.
#include <boost/asio/ip/address.hpp>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>

#include "core/api/cluster_proxy.h"
#include "core/msa/rules/token_secret.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/konnectivity/identifiers.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "tests/interop/peers.h"
#include "tests/support/faulty_relay.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

/// What takes the requests of the user server at the cluster, with the caller's token as upstream's does it, and keeps the
/// tokens.
class TestsServiceProxy {
 public:
  TestsServiceProxy(const std::string& address, const pki::KeyPair& certificate, const KubeServer& member) {
    proxy::Http1HopOptions to;
    to.server = member.url();
    to.ca = member.ca().certificate;
    hop_ = *proxy::Http1Hop::make(runtime_.executor(), to);
    serve::ListenOptions listen;
    listen.address = address;
    listen.port = 7443;
    listen.certificate = certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    auto started =
        serve::HttpListener::start_direct(runtime_, listen, [this](serve::HttpRequest request, const serve::Reply& reply) {
          {
            const std::scoped_lock lock(mutex_);
            seen_.emplace_back(request.header("authorization"));
          }
          std::erase_if(request.headers, [](const auto& header) { return header.first == "host"; });
          hop_->send(std::move(request), [reply](Result<serve::HttpResponse> answer) {
            reply(answer ? std::move(*answer) : proxy::error_answer(answer.error()));
          });
        });
    if (started) listener_ = std::move(*started);
  }
  ~TestsServiceProxy() {
    listener_.reset();
    runtime_.on_io_thread([this] {
      hop_->close();
      hop_.reset();
    });
    runtime_.stop();
  }
  TestsServiceProxy(const TestsServiceProxy&) = delete;
  TestsServiceProxy& operator=(const TestsServiceProxy&) = delete;

  bool listens() const { return listener_ != nullptr; }
  std::vector<std::string> seen() const {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> seen_;
  serve::HttpRuntime runtime_{0};
  std::shared_ptr<proxy::Http1Hop> hop_;
  std::unique_ptr<serve::HttpListener> listener_;
};

class ThroughClusterProxy : public FleetTest {
 protected:
  static constexpr const char* kProxyNamespace = "open-cluster-management-addon";

  /// What lives as long as the fleet.
  struct Stage {
    pki::KeyPair ca = *pki::make_ca("cluster-proxy", std::chrono::hours(1));
    std::string address;  // of what only the cluster reaches
    int front = free_port();
    int tunnels = free_port();
    int users = free_port();
    std::optional<FaultyRelay> api_server;  // at the port of API servers
    std::optional<TestsServiceProxy> service_proxy;
    std::map<std::string, sandbox::Child> programs;
    std::string kubeconfig;  // a file, of an account of the hub
    std::string hub_token;
    std::string token;  // of the account of the cluster
  };
  static std::unique_ptr<Stage>& stage() {
    static std::unique_ptr<Stage> the_stage;
    return the_stage;
  }
  static std::string why_not() {
    if (!peers_folder({"proxy-server", "proxy-agent", "cluster-proxy"}))
      return "FLEETADM_PEERS names no folder with upstream's programs (proxy-server, proxy-agent, cluster-proxy)";
    return ::geteuid() == 0 ? "" : "the proxy-agent needs root: names and a port of the cluster's own";
  }

  static void SetUpTestSuite() {
    if (!KubeServer::programs() || !why_not().empty()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, false));
    stage() = std::make_unique<Stage>();
    stage()->address = "127.77." + std::to_string(::getpid() % 250) + ".1";
    ASSERT_NO_FATAL_FAILURE(make_hub());
    ASSERT_NO_FATAL_FAILURE(make_account());
    ASSERT_NO_FATAL_FAILURE(start_upstream());
  }
  static void TearDownTestSuite() {
    stage().reset();
    FleetTest::TearDownTestSuite();
  }
  void SetUp() override {
    if (const std::string why = why_not(); !why.empty()) GTEST_SKIP() << why;
    FleetTest::SetUp();
    ASSERT_TRUE(stage() && stage()->programs.contains("proxy-agent"));
  }

  static KubeServer& hub() { return fleet()->hub(); }
  static KubeServer& member() { return fleet()->spoke(1); }
  static std::string file(const std::string& name) { return (fleet()->folder().path() / name).string(); }
  static std::string log() { return read_file(file("proxy-server.log")) + read_file(file("proxy-agent.log")); }

  static void create(const KubeServer& server, const std::string& collection, std::string_view yaml) {
    const auto object = parse_yaml(yaml);
    ASSERT_TRUE(object) << object.error().message;
    const auto made = server.create(collection, *object);
    ASSERT_EQ(made.status, 201) << collection << ": " << made.body;
  }
  static void create_secret(const std::string& name, const std::map<std::string, std::string>& values) {
    Json data = Json::object();
    for (const auto& [key, value] : values) data[key] = base64_encode(value);
    const auto made = hub().create(std::string("/api/v1/namespaces/") + kProxyNamespace + "/secrets",
                                   {{"metadata", {{"name", name}}}, {"data", data}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  /// A Service whose servers are at a port of this machine.
  static void create_service(std::string_view name, int port) {
    const auto made = hub().create(
        std::string("/api/v1/namespaces/") + kProxyNamespace + "/services",
        {{"metadata", {{"name", name}}},
         {"spec", {{"type", "ExternalName"}, {"externalName", "127.0.0.1"}, {"ports", Json::array({{{"port", port}}})}}}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  static pki::KeyPair leaf(const std::vector<std::string>& names) {
    pki::LeafOptions options;
    options.subject.common_name = names.front();
    options.dns_names = names;
    options.ip_addresses = {"127.0.0.1"};
    options.server = true;
    options.client = names.front().find('.') == std::string::npos;
    return *pki::issue(stage()->ca, options);
  }
  static pki::KeyPair to_files(const std::string& name, const pki::KeyPair& pair) {
    fleet()->folder().write(name + ".crt", pair.certificate);
    fleet()->folder().write(name + ".key", pair.key);
    return pair;
  }

  /// What fleetadm and the manager of cluster-proxy put on a hub.
  static void make_hub() {
    const Ran made = run({"init", "--context", "hub"});
    ASSERT_EQ(made.code, 0) << made.both();
    const Ran kinds =
        run({"addon", "install", "managed-serviceaccount", "--image", "example.invalid/not-run:1", "--context", "hub"});
    ASSERT_EQ(kinds.code, 0) << kinds.both();
    create(hub(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: managedproxyconfigurations.proxy.open-cluster-management.io}
spec:
  group: proxy.open-cluster-management.io
  scope: Cluster
  names: {kind: ManagedProxyConfiguration, listKind: ManagedProxyConfigurationList, plural: managedproxyconfigurations,
          singular: managedproxyconfiguration}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
)");
    const std::string configurations = "/apis/proxy.open-cluster-management.io/v1alpha1/managedproxyconfigurations";
    ASSERT_TRUE(hub().eventually(configurations, [](const Json& list) { return list.contains("items"); }));
    create(hub(), configurations,
           std::string(R"(apiVersion: proxy.open-cluster-management.io/v1alpha1
kind: ManagedProxyConfiguration
metadata: {name: cluster-proxy}
spec: {proxyServer: {namespace: )") +
               kProxyNamespace + "}}");
    for (const char* name : {kProxyNamespace, "c1"})
      create(hub(), "/api/v1/namespaces", std::string("metadata: {name: ") + name + "}");
    const auto cluster =
        hub().create(kManagedClusters,
                     {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                      {"kind", "ManagedCluster"},
                      {"metadata", {{"name", "c1"}}},
                      {"spec",
                       {{"hubAcceptsClient", true},
                        {"managedClusterClientConfigs",
                         Json::array({{{"url", member().url()}, {"caBundle", base64_encode(member().ca().certificate)}}})}}}});
    ASSERT_EQ(cluster.status, 201) << cluster.body;
    create_secret("proxy-server-ca", {{"ca.crt", stage()->ca.certificate}});
    const auto client = to_files("client", leaf({"proxy-client"}));
    create_secret("proxy-client", {{"tls.crt", client.certificate}, {"tls.key", client.key}});
    create_service(api::kProxyEntrypointService, stage()->front);
    // Whoever calls has a token of the hub, which must go nowhere else.
    create(hub(), "/api/v1/namespaces/default/serviceaccounts", "metadata: {name: person}");
    create(hub(), "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", R"(metadata: {name: person}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, namespace: default, name: person}]
)");
    stage()->hub_token = token_of(hub(), "person");
    stage()->kubeconfig = fleet()->folder().write("person.kubeconfig", hub().kubeconfig_with_token(stage()->hub_token));
  }
  static std::string token_of(const KubeServer& server, const std::string& account) {
    const auto made = server.request("POST", "/api/v1/namespaces/default/serviceaccounts/" + account + "/token",
                                     R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    EXPECT_EQ(made.status, 201) << made.body;
    return str(made.json(), {"status", "token"});
  }
  /// An account that may read ConfigMaps, as its add-on reports it.
  static void make_account() {
    create(member(), "/api/v1/namespaces/default/serviceaccounts", "metadata: {name: app}");
    create(member(), "/apis/rbac.authorization.k8s.io/v1/clusterroles",
           "metadata: {name: app}\nrules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}]");
    create(member(), "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", R"(metadata: {name: app}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: app}
subjects: [{kind: ServiceAccount, namespace: default, name: app}]
)");
    create(member(), "/api/v1/namespaces/default/configmaps", "metadata: {name: reached}\ndata: {a: b}");
    stage()->token = token_of(member(), "app");
    const std::string accounts = "/apis/authentication.open-cluster-management.io/v1beta1/namespaces/c1/managedserviceaccounts";
    ASSERT_TRUE(hub().eventually(accounts, [](const Json& list) { return list.contains("items"); }));
    const auto made = hub().create(accounts, {{"apiVersion", "authentication.open-cluster-management.io/v1beta1"},
                                              {"kind", "ManagedServiceAccount"},
                                              {"metadata", {{"name", "app"}}},
                                              {"spec", {{"rotation", Json::object()}}}});
    ASSERT_EQ(made.status, 201) << made.body;
    const auto reported =
        hub().request("PATCH", accounts + "/app/status",
                      R"({"status":{"tokenSecretRef":{"name":"app","lastRefreshTimestamp":"2026-01-01T00:00:00Z"}}})",
                      "application/merge-patch+json");
    ASSERT_EQ(reported.status, 200) << reported.body;
    const auto secret = hub().create("/api/v1/namespaces/c1/secrets",
                                     msa::secret_object(Json(), made.json(), stage()->token, member().ca().certificate));
    ASSERT_EQ(secret.status, 201) << secret.body;
  }
  static void start(const std::string& name, std::vector<std::string> args, std::vector<sandbox::BindMount> mounts = {}) {
    sandbox::ChildSpec spec;
    spec.program = *peers_folder() + "/" + name.substr(0, name.find('/'));
    spec.args = std::move(args);
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin",
                        std::string("POD_NAMESPACE=") + kProxyNamespace, "KUBECONFIG=" + hub().kubeconfig_file()};
    spec.output_file = file(name.substr(0, name.find('/')) + ".log");
    spec.mounts = std::move(mounts);
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    stage()->programs.insert_or_assign(name, std::move(*child));
  }
  static void start_agent() {
    const std::string hosts = fleet()->folder().write("hosts", "127.0.0.1 localhost\n" + stage()->address + " c1 c1.elsewhere " +
                                                                   konnectivity::service_proxy_host("c1") + "\n");
    ASSERT_NO_FATAL_FAILURE(
        start("proxy-agent",
              {"--proxy-server-host=127.0.0.1", "--proxy-server-port=" + std::to_string(stage()->tunnels),
               "--agent-identifiers=host=c1&host=c1.elsewhere&host=" + konnectivity::service_proxy_host("c1"),
               "--health-server-port=" + std::to_string(free_port()), "--admin-server-port=" + std::to_string(free_port()),
               "--ca-cert=" + file("ca.crt"), "--agent-cert=" + file("agent.crt"), "--agent-key=" + file("agent.key")},
              {{hosts, "/etc/hosts"}}));
  }
  static void start_upstream() {
    fleet()->folder().write("ca.crt", stage()->ca.certificate);
    to_files("server", leaf({"proxy-server", std::string(api::kProxyEntrypointService) + "." + kProxyNamespace + ".svc"}));
    to_files("agent", leaf({"proxy-agent"}));
    ASSERT_NO_FATAL_FAILURE(start(
        "proxy-server",
        {"--server-count=1", "--proxy-strategies=destHost", "--server-bind-address=127.0.0.1",
         "--server-port=" + std::to_string(stage()->front), "--agent-bind-address=127.0.0.1",
         "--agent-port=" + std::to_string(stage()->tunnels), "--health-bind-address=127.0.0.1",
         "--health-port=" + std::to_string(free_port()), "--admin-port=" + std::to_string(free_port()),
         "--server-ca-cert=" + file("ca.crt"), "--server-cert=" + file("server.crt"), "--server-key=" + file("server.key"),
         "--cluster-ca-cert=" + file("ca.crt"), "--cluster-cert=" + file("server.crt"), "--cluster-key=" + file("server.key")}));
    stage()->api_server.emplace(member().port(), FaultyRelay::Endpoint{boost::asio::ip::make_address(stage()->address), 443});
    stage()->service_proxy.emplace(stage()->address, leaf({"service-proxy", konnectivity::service_proxy_host("c1")}), member());
    ASSERT_TRUE(stage()->service_proxy->listens());
    ASSERT_NO_FATAL_FAILURE(start_agent());
  }

  static Ran as_person(std::vector<std::string> args, const RunOptions& options = {}) {
    args.insert(args.begin(), {"--kubeconfig", stage()->kubeconfig});
    return run(args, options);
  }
  /// "STATUS/HOP" of the cluster.
  static std::string health(const std::vector<std::string>& more, std::string* way = nullptr) {
    std::vector<std::string> args{"proxy", "health", "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    const Ran ran = as_person(args);
    if (way != nullptr) *way = str(ran.json(), {"way"});
    const auto& items = list_at(ran.json(), {"items"});
    return items.empty() ? ran.both() : str(items.front(), {"status"}) + "/" + str(items.front(), {"hop"});
  }
  static std::string becomes(const std::string& wanted, const std::vector<std::string>& more, std::string* way = nullptr) {
    std::string last;
    [[maybe_unused]] const bool reached = eventually(
        [&] {
          last = health(more, way);
          return last == wanted;
        },
        std::chrono::seconds(60));
    return last;
  }
  static void kubectl_reads() {
    if (KubeServer::on_sandbox()) {  // no kubectl beside it: this program takes its place
      const Ran child = as_person({"proxy", "kubectl", "--cluster", "c1", "--sa", "app", "--", "version", "-o", "json"},
                                  {.environment = {{"FLEETADM_KUBECTL", Fleet::binary()}}});
      EXPECT_EQ(child.code, 0) << child.both();
      return;
    }
    const RunOptions with{.environment = {{"FLEETADM_KUBECTL", *KubeServer::programs() + "/kubectl"}}};
    const Ran one = as_person({"proxy", "kubectl", "--cluster", "c1", "--sa", "app", "--", "get", "configmap", "reached", "-n",
                               "default", "-o", "jsonpath={.data.a}"},
                              with);
    EXPECT_EQ(one.code, 0) << one.both();
    EXPECT_EQ(one.out, "b") << one.both();
    const Ran refused = as_person({"proxy", "kubectl", "--cluster", "c1", "--sa", "app", "--", "get", "secrets"}, with);
    EXPECT_EQ(refused.code, 1) << refused.both();
    EXPECT_NE(refused.err.find("cannot list resource"), std::string::npos) << refused.err;
  }
  /// Who the member's API server was asked by, in a time.
  static std::set<std::string> askers_since(std::uintmax_t position) {
    std::set<std::string> users;
    for (const AuditEntry& entry : member().audit_since(position)) {
      if (entry.user.starts_with("system:kube-") || entry.user.starts_with("system:apiserver")) continue;
      users.insert(entry.user + (entry.impersonated_user.empty() ? "" : " as " + entry.impersonated_user));
    }
    return users;
  }
};

TEST_F(ThroughClusterProxy, A_ByKonnectivityTheMemberIsAskedAsTheAccount) {
  std::string way;
  ASSERT_EQ(becomes("Healthy/", {"--sa", "app"}, &way), "Healthy/") << log();
  EXPECT_EQ(way, "konnectivity");
  const auto since = member().audit_position();
  const Ran got = as_person({"get", "configmaps", "--clusters", "c1", "--sa", "app", "-n", "default", "-o", "name"});
  EXPECT_EQ(got.code, 0) << got.both();
  EXPECT_NE(got.out.find("c1/configmap/reached\n"), std::string::npos) << got.out;
  const Ran refused = as_person({"get", "secrets", "--clusters", "c1", "--sa", "app"});
  EXPECT_EQ(refused.code, 4) << refused.both();
  EXPECT_NE(refused.err.find("User \"system:serviceaccount:default:app\" cannot list"), std::string::npos) << refused.err;
  kubectl_reads();
  EXPECT_EQ(askers_since(since), std::set<std::string>{"system:serviceaccount:default:app"});
}

TEST_F(ThroughClusterProxy, B_AnybodyMayAskForHealth) {
  ASSERT_EQ(becomes("Healthy/", {}), "Healthy/") << log();
  const Ran shown = as_person({"proxy", "health"});
  EXPECT_EQ(shown.code, 0) << shown.both();
  EXPECT_NE(shown.both().find("konnectivity server"), std::string::npos) << shown.both();
}

TEST_F(ThroughClusterProxy, C_WithoutAnAccountNothingElseIsDone) {
  const auto since = member().audit_position();
  for (const std::vector<std::string>& args : {std::vector<std::string>{"get", "configmaps", "--clusters", "c1"},
                                               {"logs", "p", "--cluster", "c1"},
                                               {"exec", "p", "--cluster", "c1", "--", "true"},
                                               {"proxy", "port-forward", "p", ":80", "--cluster", "c1"}}) {
    const Ran ran = as_person(args);
    EXPECT_EQ(ran.code, 64) << args.front() << ": " << ran.both();
    EXPECT_NE(ran.err.find("--sa NAME"), std::string::npos) << ran.err;
  }
  const Ran unknown = as_person({"logs", "p", "--cluster", "c1", "--sa", "nobody"});
  EXPECT_EQ(unknown.code, 5) << unknown.both();
  EXPECT_NE(as_person({"get", "configmaps", "--clusters", "c1", "--sa", "nobody"}).code, 0);
  EXPECT_NE(as_person({"proxy", "kubeconfig", "--cluster", "c1"}).code, 0);
  EXPECT_EQ(askers_since(since), std::set<std::string>{});
}

TEST_F(ThroughClusterProxy, D_AMemberThatTheAccountsCaDoesNotVouchForIsToldNothing) {
  ASSERT_EQ(becomes("Healthy/", {"--sa", "app"}), "Healthy/") << log();
  const auto change_ca = [](const std::string& pem) {
    const auto changed =
        hub().request("PATCH", "/api/v1/namespaces/c1/secrets/app", dump_json(Json{{"data", {{"ca.crt", base64_encode(pem)}}}}),
                      "application/merge-patch+json");
    ASSERT_EQ(changed.status, 200) << changed.body;
  };
  change_ca(stage()->ca.certificate);
  const auto since = member().audit_position();
  EXPECT_EQ(health({"--sa", "app"}), "NotVerified/member");
  const Ran got = as_person({"get", "configmaps", "--clusters", "c1", "--sa", "app"});
  EXPECT_NE(got.code, 0);
  EXPECT_EQ(got.out.find("reached"), std::string::npos);
  EXPECT_EQ(askers_since(since), std::set<std::string>{});
  change_ca(member().ca().certificate);
  EXPECT_EQ(health({"--sa", "app"}), "Healthy/");
}

TEST_F(ThroughClusterProxy, E_ByTheUserServerNothingOfTheHubArrives) {
  const std::string name = "cluster-proxy-addon-user." + std::string(kProxyNamespace) + ".svc";
  to_files("users", leaf({"user-server", name}));
  ASSERT_NO_FATAL_FAILURE(
      start("cluster-proxy/user-server",
            {"user-server", "--host=127.0.0.1", "--port=" + std::to_string(stage()->front), "--proxy-ca-cert=" + file("ca.crt"),
             "--proxy-cert=" + file("client.crt"), "--proxy-key=" + file("client.key"),
             "--server-port=" + std::to_string(stage()->users), "--server-cert=" + file("users.crt"),
             "--server-key=" + file("users.key"), "--service-proxy-ca-cert=" + file("ca.crt"),
             "--agent-install-namespace=elsewhere", "--drain-timeout=1s", "--min-drain-duration=1s"}));
  ASSERT_NO_FATAL_FAILURE(create_service(api::kUserServerService, stage()->users));
  std::string way;
  ASSERT_EQ(becomes("Healthy/", {"--sa", "app"}, &way), "Healthy/") << read_file(file("cluster-proxy.log")) << log();
  EXPECT_EQ(way, "user-server");
  const auto since = member().audit_position();
  const Ran got = as_person({"get", "configmaps", "--clusters", "c1", "--sa", "app", "-n", "default", "-o", "name"});
  EXPECT_EQ(got.code, 0) << got.both();
  EXPECT_NE(got.out.find("c1/configmap/reached\n"), std::string::npos) << got.out;
  kubectl_reads();
  EXPECT_EQ(askers_since(since), std::set<std::string>{"system:serviceaccount:default:app"});
  const auto seen = stage()->service_proxy->seen();
  ASSERT_FALSE(seen.empty());
  for (const std::string& authorization : seen) EXPECT_EQ(authorization, "Bearer " + stage()->token);
  const Ran shown = as_person({"proxy", "health", "--sa", "app", "-v", "9"});
  EXPECT_NE(shown.both().find("verified there, not here"), std::string::npos) << shown.both();
  for (const std::string& secret : {stage()->token, stage()->hub_token})
    EXPECT_EQ(shown.both().find(secret), std::string::npos) << "a token is printed";
}

TEST_F(ThroughClusterProxy, F_AClusterWhoseAgentIsGoneIsSaidToBe) {
  stage()->programs.erase("proxy-agent");
  EXPECT_EQ(becomes("NoTunnel/tunnel", {}), "NoTunnel/tunnel") << "by konnectivity";
  ASSERT_NO_FATAL_FAILURE(start_agent());
  EXPECT_EQ(becomes("Healthy/", {}), "Healthy/") << log();
}

}  // namespace
}  // namespace fleetadm::testkit
