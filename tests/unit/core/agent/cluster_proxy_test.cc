// The agent in the place of the add-on cluster-proxy's pods: what it waits for, whose names it uses, and when it renews the
// lease.
#include "core/agent/cluster_proxy.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "core/api/cluster_proxy.h"
#include "core/api/kinds.h"
#include "core/proxy/konnectivity/agent_port.h"
#include "core/proxy/konnectivity/identifiers.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/stream_lab.h"

namespace fleetadm::agent {
namespace {

namespace res = kube::resources;
using testkit::ApiCall;
using testkit::FakeApi;

constexpr const char* kAddonNs = "addons";

class ClusterProxyTest : public testing::Test {
 protected:
  void SetUp() override {
    konnectivity::AgentPortOptions options;
    options.server_id = "s1";
    options.cluster_of = [](const serve::HttpRequest& request) -> Result<std::string> { return request.peer->common_name; };
    port_ = std::make_shared<konnectivity::AgentPort>(runtime_.executor(), options);
    start_listener(0);
    member_->on_request([this](const ApiCall& call) -> std::optional<kube::Response> {
      if (call.subresource != "token") return std::nullopt;
      ++tokens_;
      asked_for_ = call.ns + "/" + call.name;
      const Json answer{{"status",
                         {{"token", "t" + std::to_string(tokens_)},
                          {"expirationTimestamp", format_time(clock_->now() + std::chrono::hours(1))}}}};
      return kube::Response{201, {{"content-type", "application/json"}}, dump_json(answer)};
    });
    ClusterProxyOptions wanted{"c1", {}, [this] { return addon_; }, member_->client(), {}, {}, clock_};
    hub_config_ = lab_.config();
    wanted.endpoint.server = hub_config_.server;
    wanted.endpoint.ca_pem = hub_config_.ca_data;
    wanted.member_config.server = "https://127.0.0.1:1";
    wanted.connect = [this](const kube::RestConfig& config) { return config.name == "hub" ? hub_->client() : member_->client(); };
    proxy_.emplace(std::move(wanted));
  }
  void TearDown() override {
    proxy_.reset();
    listener_.reset();
    runtime_.on_io_thread([this] { port_.reset(); });
    runtime_.stop();
  }

  void start_listener(int port) {
    serve::ListenOptions listen;
    listen.port = port;
    listen.certificate = leaf("127.0.0.1", true);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    listener_.reset();
    auto started = serve::HttpListener::start_direct(
        runtime_, listen,
        [tunnels = port_](serve::HttpRequest request, const serve::Reply& reply) { tunnels->handle(std::move(request), reply); });
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(*started);
  }
  pki::KeyPair leaf(const std::string& name, bool server) const {
    pki::LeafOptions leaf;
    leaf.subject.common_name = name;
    if (server) leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = server;
    leaf.client = !server;
    return *pki::issue(ca_, leaf);
  }
  void put_secret(std::string_view name, const std::map<std::string, std::string>& data) {
    Json secret{{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", name}, {"namespace", kAddonNs}}}};
    for (const auto& [key, value] : data) secret["data"][key] = base64_encode(value);
    member_->put(res::secrets(), secret);
  }
  void put_deployment(const std::vector<std::string>& more = {}) {
    const std::vector<std::string> args = {"--proxy-server-host=127.0.0.1",
                                           "--proxy-server-port=" + std::to_string(listener_->port()),
                                           "--agent-identifiers=host=" + konnectivity::service_proxy_host("c1") + "&host=c1"};
    std::vector<Json> containers = {{{"name", "proxy-agent"}, {"args", args}},
                                    {{"name", "service-proxy"}, {"args", Json::array({"service-proxy"})}}};
    if (!more.empty()) containers.push_back({{"name", "addon-agent"}, {"args", more}});
    member_->put(res::deployments(), {{"apiVersion", "apps/v1"},
                                      {"kind", "Deployment"},
                                      {"metadata", {{"name", proxy::kProxyAgentDeployment}, {"namespace", kAddonNs}}},
                                      {"spec", {{"replicas", 0}, {"template", {{"spec", {{"containers", containers}}}}}}}});
  }
  void put_all() {
    addon_ = Json{{"metadata", {{"name", api::kClusterProxyAddon}, {"namespace", "c1"}}}, {"status", {{"namespace", kAddonNs}}}};
    put_deployment();
    const pki::KeyPair client = leaf("c1", false);
    const pki::KeyPair server = leaf("proxy", true);
    put_secret(api::kClusterProxyCaSecret, {{"ca.crt", ca_.certificate}});
    put_secret(api::kClusterProxyTunnelSecret, {{"tls.crt", client.certificate}, {"tls.key", client.key}});
    put_secret(api::kClusterProxyServingSecret, {{"tls.crt", server.certificate}, {"tls.key", server.key}});
    put_secret(api::kClusterProxyHubSecret, {{"kubeconfig", "…"}, {"tls.crt", client.certificate}, {"tls.key", client.key}});
  }
  std::string problem() {
    EXPECT_TRUE(proxy_->reconcile());
    return str(proxy_->describe(), {"problem"});
  }
  std::size_t tunnels() {
    std::size_t count = 0;
    runtime_.on_io_thread([&] { count = port_->tunnels("c1"); });
    return count;
  }
  static bool soon(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  std::optional<Json> lease() const { return member_->get(res::leases(), kAddonNs, api::kClusterProxyAddon); }
  bool has_served_tunnel() {
    return soon([this] { return proxy_->reconcile() && num(proxy_->describe(), {"tunnels"}) == 1 && lease().has_value(); });
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(*parse_time("2026-03-01T10:00:00Z"));
  pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  std::shared_ptr<FakeApi> hub_ = FakeApi::make();
  std::shared_ptr<FakeApi> member_ = FakeApi::make();
  std::optional<Json> addon_;
  std::atomic<int> tokens_ = 0;
  std::string asked_for_;
  serve::HttpRuntime runtime_{0};
  std::shared_ptr<konnectivity::AgentPort> port_;
  std::unique_ptr<serve::HttpListener> listener_;
  testkit::StreamLab lab_;  // the hub as streams see it
  kube::RestConfig hub_config_;
  std::optional<ClusterProxy> proxy_;
};

TEST_F(ClusterProxyTest, DoesNothingWithoutTheAddOn) {
  const auto outcome = proxy_->reconcile();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->requeue_after) << "an event wakes it";
  EXPECT_TRUE(member_->calls().empty());
}

TEST_F(ClusterProxyTest, SaysWhatHasNotComeYet) {
  put_all();
  for (const std::string_view name : {api::kClusterProxyHubSecret, api::kClusterProxyServingSecret,
                                      api::kClusterProxyTunnelSecret, api::kClusterProxyCaSecret}) {
    member_->erase(res::secrets(), kAddonNs, name);
    EXPECT_EQ(problem(), "Secret addons/" + std::string(name) + " is not there yet");
  }
  member_->erase(res::deployments(), kAddonNs, proxy::kProxyAgentDeployment);
  EXPECT_EQ(problem(), "Deployment addons/cluster-proxy-proxy-agent has not come from the hub yet");
  EXPECT_EQ(tokens_, 0);
  EXPECT_EQ(tunnels(), 0U);
}

TEST_F(ClusterProxyTest, RenewsTheLeaseOnlyWhileThereIsATunnel) {
  put_all();
  ASSERT_TRUE(has_served_tunnel()) << proxy_->describe();
  EXPECT_EQ(asked_for_, "addons/cluster-proxy");
  const Json first = *lease();
  clock_->advance(std::chrono::minutes(1));
  ASSERT_TRUE(proxy_->reconcile());
  const Json second = *lease();
  EXPECT_NE(str(second, {"spec", "renewTime"}), str(first, {"spec", "renewTime"}));
  listener_.reset();
  ASSERT_TRUE(soon([this] { return num(proxy_->describe(), {"tunnels"}) == 0; }));
  clock_->advance(std::chrono::minutes(1));
  EXPECT_FALSE(problem().empty());
  EXPECT_EQ(lease(), second);
}

TEST_F(ClusterProxyTest, ItsTokenIsRenewedInTimeAndAfterARefusal) {
  put_all();
  ASSERT_TRUE(has_served_tunnel()) << proxy_->describe();
  EXPECT_EQ(tokens_, 1);
  clock_->advance(std::chrono::minutes(47));
  ASSERT_TRUE(proxy_->reconcile());
  EXPECT_EQ(tokens_, 1);
  clock_->advance(std::chrono::minutes(2));
  ASSERT_TRUE(proxy_->reconcile());
  EXPECT_EQ(tokens_, 2);
  member_->fail_next("get", "leases", 401, "Unauthorized");
  ASSERT_TRUE(proxy_->reconcile());
  ASSERT_TRUE(proxy_->reconcile());
  EXPECT_EQ(tokens_, 3);
}

TEST_F(ClusterProxyTest, ANewAuthorityMeansANewTunnelAndTheEndOfTheAddOnNone) {
  put_all();
  ASSERT_TRUE(has_served_tunnel()) << proxy_->describe();
  const pki::KeyPair other = *pki::make_ca("other", std::chrono::hours(1));
  put_secret(api::kClusterProxyCaSecret, {{"ca.crt", other.certificate}});
  ASSERT_TRUE(proxy_->reconcile());
  EXPECT_TRUE(soon([this] { return !problem().empty(); })) << "the server is not vouched for any more";
  EXPECT_EQ(tunnels(), 0U);
  put_secret(api::kClusterProxyCaSecret, {{"ca.crt", ca_.certificate}});
  ASSERT_TRUE(soon([this] { return proxy_->reconcile() && tunnels() == 1; })) << proxy_->describe();
  addon_.reset();
  ASSERT_TRUE(proxy_->reconcile());
  EXPECT_TRUE(soon([this] { return tunnels() == 0; }));
}

TEST_F(ClusterProxyTest, ReachesServersWithoutAnAddressThroughTheHub) {
  put_all();
  put_deployment({"--enable-port-forward-proxy=true", "--proxy-server-namespace=default"});
  const auto credentials = hub_config_.credentials->current();
  ASSERT_TRUE(credentials);
  put_secret(api::kClusterProxyHubSecret,
             {{"kubeconfig", "…"}, {"tls.crt", credentials->client_certificate}, {"tls.key", credentials->client_key}});
  EXPECT_EQ(problem(), "no pod of the proxy server runs in namespace default of the hub");
  // Its pod listens where the port-forward leads.
  lab_.on_port([this](int port) { start_listener(port); });
  lab_.add_pod("server-0", "exec sleep 1000", {{"ports", Json::array({{{"containerPort", api::kProxyAgentPort}}})}});
  hub_->put(res::pods(), {{"metadata",
                           {{"name", "server-0"},
                            {"namespace", "default"},
                            {"labels", {{"proxy.open-cluster-management.io/component-name", "proxy-server"}}}}},
                          {"status", {{"phase", "Running"}}}});
  EXPECT_TRUE(has_served_tunnel()) << proxy_->describe();
  EXPECT_EQ(tunnels(), 1U);
}

}  // namespace
}  // namespace fleetadm::agent
