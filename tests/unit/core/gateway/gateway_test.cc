// The whole way in one process: a client, the gateway program, the agent's tunnels, and a member's API server that tells what it
// was asked. The hub is a fake.
#include "core/gateway/gateway.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "core/agent/gateway_tunnels.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"
#include "core/gateway/gateway_addresses.h"
#include "core/proxy/hub/gateway_replicas.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/host_port.h"
#include "tests/support/fake_api.h"
#include "tests/support/https.h"

namespace fleetadm::gateway {
namespace {

using namespace std::chrono_literals;
namespace types = kube::resources;

template <class Holds>
bool eventually(const Holds& holds, Duration patience = 20s) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// An API server that answers with what it was asked.
class Member {
 public:
  explicit Member(const pki::KeyPair& ca) {
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    serve::ListenOptions listen;
    listen.certificate = pki::issue(ca, leaf).value();
    listen.client_ca = ca.certificate;
    listener_ = serve::HttpListener::start(runtime_, listen, answer).value();
  }
  std::string url() const { return "https://" + listener_->endpoint(); }
  void stop() { listener_.reset(); }

 private:
  static serve::HttpResponse answer(const serve::HttpRequest& request) {
    Json headers = Json::object();
    for (const auto& [name, value] : request.headers) headers[name].push_back(value);
    return serve::answer_text(200,
                              dump_json({{"method", request.method},
                                         {"path", request.path},
                                         {"query", request.query},
                                         {"body", request.body},
                                         {"client", request.peer->common_name},
                                         {"headers", headers}}),
                              "application/json");
  }

  serve::HttpRuntime runtime_{2};
  std::unique_ptr<serve::HttpListener> listener_;
};

std::string hop_of(const testkit::HttpsAnswer& answer) {
  const auto status = parse_json(answer.body);
  const Json causes = status ? list_at(*status, {"details", "causes"}) : Json::array();
  return causes.empty() ? "" : str(causes.front(), {"message"});
}

class GatewayPath : public ::testing::Test {
 protected:
  void SetUp() override {
    hub->put(types::config_maps(), {{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"metadata", {{"name", "extension-apiserver-authentication"}, {"namespace", "kube-system"}}},
                                    {"data", {{"client-ca-file", ca.certificate}}}});
    accept(true);
    start_gateway();
    start_agent();
  }
  void TearDown() override {
    stop_agent();
    stop_gateway();
  }

  void accept(bool accepted) const {
    hub->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                       {"kind", "ManagedCluster"},
                                       {"metadata", {{"name", "c1"}}},
                                       {"spec", {{"hubAcceptsClient", accepted}}}});
  }
  void tell(const char* available, const char* responding) const {
    Json cluster = hub->get(api::managed_clusters(), "", "c1").value();
    Json& conditions = at_or_make(cluster, {"status", "conditions"});
    const Instant since = Clock::system()->now() - std::chrono::minutes(5);
    controller::set_condition(conditions, api::kConditionAvailable, available, "x", "connection refused", since);
    controller::set_condition(conditions, api::kConditionResponding, responding, "x", "", since);
    hub->put(api::managed_clusters(), cluster);
  }
  pki::KeyPair client_of(const std::string& name, const std::vector<std::string>& organizations) const {
    pki::LeafOptions leaf;
    leaf.subject = {name, organizations, {}};
    leaf.client = true;
    return pki::issue(ca, leaf).value();
  }

  void start_gateway() {
    options.drain = 1s;
    options.keep = 1s;
    gateway = std::jthread([this](const std::stop_token& stop) {
      const Status ended = run_gateway(hub->client(), options, stop);
      EXPECT_TRUE(ended) << ended.error().message;
    });
    ASSERT_TRUE(eventually([&] { return published().has_value(); }));
    // It comes back at the same place.
    options.address = published()->server.substr(std::string("https://").size());
    options.tunnel_address = published()->tunnels.front();
  }
  void stop_gateway() {
    gateway.request_stop();
    if (gateway.joinable()) gateway.join();
  }
  std::optional<api::PublishedGateway> published() const {
    const auto live = hub->get(types::config_maps(), api::kHubNamespace, api::kGatewayConfigMap);
    return live ? api::read_gateway(*live).value() : std::nullopt;
  }

  void start_agent() {
    kube::Credentials shown;
    const pki::KeyPair own = client_of("system:serviceaccount:a:fleetadm-agent", {});
    shown.client_certificate = own.certificate;
    shown.client_key = own.key;
    agent::GatewayTunnelsOptions tunnels{hub->client(), member_api->client(), {}, {}, {}, [this] { asked = true; }};
    tunnels.member_config.server = member.url();
    tunnels.member_config.ca_data = ca.certificate;
    tunnels.member_config.credentials = kube::static_credentials(shown);
    const pki::KeyPair identity = client_of("system:open-cluster-management:c1:agent",
                                            {"system:open-cluster-management:c1", std::string(api::kManagedClustersGroup)});
    tunnels.certificate = [identity] { return Result<pki::KeyPair>(identity); };
    agent = std::make_unique<agent::GatewayTunnels>(std::move(tunnels));
    asked = true;
    reconciling = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (asked.exchange(false)) {
          EXPECT_TRUE(agent->reconcile());
        }
        std::this_thread::sleep_for(2ms);
      }
    });
  }
  void stop_agent() {
    reconciling.request_stop();
    if (reconciling.joinable()) reconciling.join();
    agent.reset();
  }
  Json tunnel() const {
    const Json said = agent->describe();
    return list_at(said, {"tunnels"}).empty() ? Json::object() : list_at(said, {"tunnels"}).front();
  }

  testkit::HttpsAnswer ask(const std::string& path, const std::string& method = "GET", const std::string& body = {}) const {
    return testkit::https({.url = published()->server + path,
                           .method = method,
                           .body = body,
                           .ca = published()->ca,
                           .certificate = alice.certificate,
                           .key = alice.key});
  }
  bool answers() const {
    return eventually([&] { return ask("/clusters/c1/proxy/version").status == 200; });
  }

  const pki::KeyPair ca = pki::make_ca("hub", 24h).value();
  const pki::KeyPair alice = client_of("alice", {"devs", "ops"});
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> member_api = testkit::FakeApi::make();
  Member member{ca};
  GatewayOptions options{.address = "127.0.0.1:0", .tunnel_address = "127.0.0.1:0"};
  std::jthread gateway;
  std::unique_ptr<agent::GatewayTunnels> agent;
  std::atomic<bool> asked{false};
  std::jthread reconciling;
};

TEST_F(GatewayPath, TheMemberSeesTheCallerAndTheRequestAsItWas) {
  ASSERT_TRUE(answers());
  const auto answer = ask("/clusters/c1/proxy/api/v1/namespaces/a%2Fb/pods/x%3Ay?labelSelector=a%20in%20(b)", "PUT", "the body");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json seen = parse_json(answer.body).value();
  EXPECT_EQ(str(seen, {"method"}), "PUT");
  EXPECT_EQ(str(seen, {"path"}), "/api/v1/namespaces/a%2Fb/pods/x%3Ay");
  EXPECT_EQ(str(seen, {"query"}), "labelSelector=a%20in%20(b)");
  EXPECT_EQ(str(seen, {"body"}), "the body");
  EXPECT_EQ(str(seen, {"client"}), "system:serviceaccount:a:fleetadm-agent") << "the agent's own credential";
  EXPECT_EQ(string_list_at(seen, {"headers", "impersonate-user"}), std::vector<std::string>{"alice"});
  auto groups = string_list_at(seen, {"headers", "impersonate-group"});
  std::sort(groups.begin(), groups.end());  // a certificate's organizations are a set
  EXPECT_EQ(groups, (std::vector<std::string>{"devs", "ops"}));
  for (const auto& [name, value] : object_at(seen, {"headers"}).items()) EXPECT_FALSE(name.starts_with("fleetadm-")) << name;
}

TEST_F(GatewayPath, OnlyGrantedGroupsAreUsedOnceTheHubSaysWhichTheyAre) {
  ASSERT_TRUE(answers());
  proxy::Impersonation granted;
  granted.users = {"alice"};
  granted.groups = {"devs"};
  const auto grant = [&] {
    member_api->put(types::cluster_roles(), {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                             {"kind", "ClusterRole"},
                                             {"metadata", {{"name", proxy::kImpersonationRole}}},
                                             {"rules", proxy::impersonation_rules(granted)}});
  };
  grant();
  EXPECT_TRUE(eventually([&] {
    const auto answer = ask("/clusters/c1/proxy/version");
    const auto seen = parse_json(answer.body);
    return seen && string_list_at(*seen, {"headers", "impersonate-group"}) == std::vector<std::string>{"devs"};
  }));
  granted.users = {"bob"};
  grant();
  EXPECT_TRUE(eventually([&] { return ask("/clusters/c1/proxy/version").status == 403; }));
}

TEST_F(GatewayPath, SaysWhichHopFailed) {
  ASSERT_TRUE(answers());
  EXPECT_EQ(ask("/clusters/c9/proxy/version").status, 404);
  EXPECT_EQ(testkit::https({.url = published()->server + "/clusters/c1/proxy/version", .ca = published()->ca}).status, 401);
  hub->on_review([](const Json& spec) { return str(spec, {"resourceAttributes", "verb"}) == "get"; });
  const auto refused = ask("/clusters/c1/proxy/api/v1/namespaces/default/pods", "POST", "{}");
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_EQ(str(parse_json(refused.body).value(), {"kind"}), "Status");
  EXPECT_EQ(hop_of(refused), "gateway");
  hub->on_review({});
  member.stop();
  const auto away = ask("/clusters/c1/proxy/version");
  EXPECT_EQ(away.status, 502) << away.body;
  EXPECT_EQ(hop_of(away), "member");
  stop_agent();
  EXPECT_TRUE(eventually([&] { return ask("/clusters/c1/proxy/version").status == 503; }));
  EXPECT_EQ(hop_of(ask("/clusters/c1/proxy/version")), "tunnel");
}

TEST_F(GatewayPath, AClusterThatIsKnownToBeDownIsToldAtOnce) {
  ASSERT_TRUE(answers());
  tell("Unknown", "False");
  EXPECT_EQ(ask("/clusters/c1/proxy/version").status, 200) << "only the hub has not heard of it";
  tell("False", "False");
  ASSERT_TRUE(eventually([&] { return ask("/clusters/c1/proxy/version").status == 503; }));
  const auto began = std::chrono::steady_clock::now();
  const auto down = ask("/clusters/c1/proxy/version");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 100ms);
  const Json told = parse_json(down.body).value();
  EXPECT_TRUE(str(told, {"message"}).starts_with("the cluster \"c1\" is down for 5m")) << down.body;
  EXPECT_TRUE(str(told, {"message"}).ends_with(": connection refused")) << down.body;
  EXPECT_EQ(find(told, {"details", "retryAfterSeconds"}), nullptr) << "nobody is to wait for it";
  EXPECT_EQ(hop_of(down), "member");
  EXPECT_EQ(ask("/anyway/clusters/c1/proxy/version").status, 200);
  EXPECT_EQ(testkit::https({.url = published()->server + "/clusters/c1/proxy/version", .ca = published()->ca}).status, 401)
      << "strangers are told nothing";
  hub->on_review([](const Json& spec) { return str(spec, {"resourceAttributes", "verb"}) == "get"; });
  EXPECT_EQ(ask("/clusters/c1/proxy/api/v1/namespaces/default/pods", "POST", "{}").status, 403);
  hub->on_review({});
  tell("False", "True");
  EXPECT_TRUE(answers()) << "it is back, whatever placements are told yet";
}

TEST_F(GatewayPath, AListOfServicesThatCannotBeReadLeavesTheLastOneInUse) {
  ASSERT_TRUE(answers());
  const auto list = [&](const std::string& text) {
    hub->put(types::config_maps(), {{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"metadata", {{"name", "cluster-proxy-exposed-services"}, {"namespace", api::kHubNamespace}}},
                                    {"data", {{"mine", text}}}});
  };
  const auto status_of = [&](const std::string& service) {
    return ask("/clusters/c1/proxy/api/v1/namespaces/ns1/services/https:" + service + ":443/proxy-service/x").status;
  };
  EXPECT_EQ(status_of("web"), 403) << "nothing is exposed without a list";
  list("- {namespace: ns1, service: web}");
  ASSERT_TRUE(eventually([&] { return status_of("web") == 200; }));
  const auto condition = [&] {
    const auto live = hub->get(types::config_maps(), api::kHubNamespace, api::kGatewayConfigMap);
    const auto list_now = parse_json(live ? str(*live, {"metadata", "annotations", proxy::kConditionsAnnotation}) : "");
    return list_now && list_now->is_array() && !list_now->empty() ? list_now->front() : Json::object();
  };
  const auto condition_says = [&](const std::string& what) {
    return str(condition(), {"message"}).find(what) != std::string::npos;
  };
  list("- {namespace: ns1, service: db, prot: https}");
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(status_of("web"), 200) << "as before";
    EXPECT_EQ(status_of("db"), 403) << "half a list is none";
    return condition_says("mine[0].prot");
  })) << "the condition names the field";
  EXPECT_EQ(str(condition(), {"status"}), "False");
  list("- [{namespace: ns1");
  EXPECT_TRUE(eventually([&] { return condition_says("malformed YAML"); }));
  EXPECT_EQ(status_of("web"), 200);
  list("- {namespace: ns1, service: db}");
  EXPECT_TRUE(eventually([&] { return status_of("db") == 200 && status_of("web") == 403; })) << "a good list counts again";
  EXPECT_TRUE(eventually([&] { return str(condition(), {"status"}) == "True"; }));
}

TEST_F(GatewayPath, AnAgentComesBackToAGatewayThatWasRestarted) {
  ASSERT_TRUE(answers());
  EXPECT_TRUE(flag(tunnel(), {"connected"}));
  stop_gateway();
  EXPECT_TRUE(eventually([&] { return !flag(tunnel(), {"connected"}); }));
  start_gateway();
  EXPECT_TRUE(answers());
  EXPECT_TRUE(flag(tunnel(), {"connected"}));
}

TEST_F(GatewayPath, AClusterThatIsNoLongerAcceptedIsCutOff) {
  ASSERT_TRUE(answers());
  accept(false);
  EXPECT_TRUE(eventually([&] { return ask("/clusters/c1/proxy/version").status >= 400; }));
  accept(true);
  EXPECT_TRUE(answers());
}

TEST_F(GatewayPath, AGatewayThatIsTakenAwayIsLeftAlone) {
  ASSERT_TRUE(answers());
  stop_gateway();
  const std::jthread reader([&](const std::stop_token& stop) {  // as /debug/agent may be read at any moment
    while (!stop.stop_requested()) static_cast<void>(agent->describe());
  });
  ASSERT_TRUE(hub->erase(types::config_maps(), api::kHubNamespace, api::kGatewayConfigMap));
  EXPECT_TRUE(eventually([&] { return list_at(agent->describe(), {"tunnels"}).empty(); }));
}

/// Two replicas behind one address for agents, as a Service is: only one of them has the tunnel.
class TwoGateways : public GatewayPath {
 protected:
  TwoGateways() { options.peer_address = "127.0.0.1:0"; }

  void start_second() {
    first_server = published()->server;
    GatewayOptions other = options;
    other.address = "127.0.0.1:0";
    other.tunnel_address = "127.0.0.1:0";
    other.public_tunnel_address = published()->tunnels.front();
    second = std::jthread([this, other](const std::stop_token& stop) {
      const Status ended = run_gateway(hub->client(), other, stop);
      EXPECT_TRUE(ended) << ended.error().message;
    });
    ASSERT_TRUE(eventually([&] { return published()->server != first_server; }));
  }
  void stop_second() {
    second.request_stop();
    if (second.joinable()) second.join();
  }

  std::string first_server;
  std::jthread second;
};

TEST_F(TwoGateways, ARequestFindsTheReplicaThatHasTheTunnel) {
  ASSERT_TRUE(answers());
  start_second();
  EXPECT_EQ(published()->tunnels.size(), 1U) << "agents know of one address";
  ASSERT_TRUE(answers()) << "asked of the second, which has no tunnel";
  const auto answer = ask("/clusters/c1/proxy/api/v1/namespaces/a%2Fb/pods/x%3Ay?x=%2F", "PUT", "the body");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json seen = parse_json(answer.body).value();
  EXPECT_EQ(str(seen, {"path"}), "/api/v1/namespaces/a%2Fb/pods/x%3Ay");
  EXPECT_EQ(str(seen, {"query"}), "x=%2F");
  EXPECT_EQ(str(seen, {"body"}), "the body");
  EXPECT_EQ(string_list_at(seen, {"headers", "impersonate-user"}), std::vector<std::string>{"alice"});
  for (const auto& [name, value] : object_at(seen, {"headers"}).items()) EXPECT_FALSE(name.starts_with("fleetadm-")) << name;
  hub->on_review([](const Json& spec) { return str(spec, {"resourceAttributes", "verb"}) == "get"; });
  EXPECT_EQ(ask("/clusters/c1/proxy/x", "DELETE").status, 403) << "judged by the one that was asked";

  stop_agent();
  testkit::HttpsAnswer last;
  EXPECT_TRUE(eventually([&] { return (last = ask("/clusters/c1/proxy/version")).status == 503; })) << last.body;
  EXPECT_EQ(hop_of(last), "tunnel");
  start_agent();
  EXPECT_TRUE(answers());
  stop_second();
}

TEST_F(TwoGateways, AReplicaThatLeavesIsAskedNoMore) {
  ASSERT_TRUE(answers());
  start_second();
  ASSERT_TRUE(answers());
  stop_gateway();  // that with the tunnel, in order
  testkit::HttpsAnswer gone;
  EXPECT_TRUE(eventually([&] { return (gone = ask("/clusters/c1/proxy/version")).status == 503; })) << gone.body;
  EXPECT_EQ(hop_of(gone), "tunnel");
  stop_second();
}

TEST(GatewayOptions, AreChecked) {
  GatewayOptions options;
  EXPECT_FALSE(check_gateway(options)) << "nobody knows where it is";
  options.in_pod = true;
  EXPECT_TRUE(check_gateway(options));
  options.in_pod = false;
  options.public_address = "gateway.example.com:443";
  options.public_tunnel_address = "gateway.example.com:8444";
  EXPECT_TRUE(check_gateway(options));
  for (const char* address : {"gateway.example.com", ":1", "a:0", "a:b"}) {
    options.public_address = address;
    EXPECT_FALSE(check_gateway(options)) << address;
  }
  options.public_address = "gateway.example.com:443";
  for (const char* address : {":8445", "[::]:8445", "8445"}) {
    options.peer_address = address;
    EXPECT_FALSE(check_gateway(options)) << address;
  }
  options.peer_address = "192.0.2.7:8445";
  EXPECT_TRUE(check_gateway(options));
}

}  // namespace
}  // namespace fleetadm::gateway
