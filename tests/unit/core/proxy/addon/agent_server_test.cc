// The agent's end of upstream's cluster-proxy, behind our end of the server's, between a hub and a member of the test's own.
#include "core/proxy/addon/agent_server.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>

#include "core/proxy/konnectivity/agent_port.h"
#include "core/proxy/konnectivity/identifiers.h"
#include "kubeclient/stream/command_stream.h"
#include "tests/support/fake_api.h"
#include "tests/support/stream_lab.h"
#include "tests/unit/core/proxy/hop/hop_lab.h"

namespace fleetadm::proxy {
namespace {

using boost::asio::ip::tcp;

constexpr const char* kOwnToken = "token-of-the-addons-account";

class AddonAgentServer : public HopLab {
 protected:
  void SetUp() override {
    start_member();
    start_port();
    hub_api_->on_request([this](const testkit::ApiCall& call) { return review(call, hub_users_); });
    member_api_->on_request([this](const testkit::ApiCall& call) { return review(call, member_users_); });
    ASSERT_NO_FATAL_FAILURE(start_agent());
    use_requests();
  }
  void TearDown() override {
    on_io_thread([this] {
      if (hop_) hop_->close();
      hop_.reset();
      raw_.reset();
    });
    agent_.reset();
    port_listener_.reset();
    on_io_thread([this] { port_.reset(); });
    member_.reset();
  }

  pki::KeyPair leaf(const std::string& name, bool server) const {
    pki::LeafOptions leaf;
    leaf.subject.common_name = name;
    if (server) leaf.dns_names = {name};
    if (server) leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = server;
    leaf.client = !server;
    return *pki::issue(ca_, leaf);
  }
  /// The member's API server: says what it was asked, and as whom.
  void start_member() {
    serve::ListenOptions listen;
    listen.certificate = leaf("member", true);
    auto started = serve::HttpListener::start_direct(io_, listen, [this](serve::HttpRequest request, const serve::Reply& reply) {
      const std::lock_guard lock(mutex_);
      seen_ = request;
      reply(serve::answer_text(200, request.method + " " + request.path + (request.query.empty() ? "" : "?" + request.query)));
    });
    ASSERT_TRUE(started) << started.error().message;
    member_ = std::move(*started);
  }
  void start_port() {
    konnectivity::AgentPortOptions options;
    options.server_id = "s1";
    options.cluster_of = [](const serve::HttpRequest&) -> Result<std::string> { return "c1"; };
    port_ = std::make_shared<konnectivity::AgentPort>(io_.executor(), options);
    serve::ListenOptions listen;
    listen.certificate = leaf("hub", true);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    auto started = serve::HttpListener::start_direct(
        io_, listen,
        [port = port_](serve::HttpRequest request, const serve::Reply& reply) { port->handle(std::move(request), reply); });
    ASSERT_TRUE(started) << started.error().message;
    port_listener_ = std::move(*started);
  }
  kube::RestConfig own_member() const {
    kube::RestConfig config;
    config.server = "https://127.0.0.1:" + std::to_string(member_->port());
    config.ca_data = ca_.certificate;
    kube::Credentials own;
    own.token = kOwnToken;
    config.credentials = kube::static_credentials(own);
    return config;
  }
  void start_agent() { start_agent(own_member()); }
  void start_agent(const kube::RestConfig& config) {
    ProxyAgentSettings settings;
    settings.identifiers = "host=" + konnectivity::service_proxy_host("c1") + "&host=c1&host=c1.addons";
    settings.names = {"c1", "c1.addons"};
    settings.serves_requests = true;
    settings.takes_hub_tokens = takes_hub_tokens_;
    auto started = AgentServer::start({.cluster = "c1",
                                       .settings = settings,
                                       .servers = {{"127.0.0.1", std::to_string(port_listener_->port())}},
                                       .proxy_ca = ca_.certificate,
                                       .certificate = [pair = leaf("agent", false)]() -> Result<pki::KeyPair> { return pair; },
                                       .serving = leaf(konnectivity::service_proxy_host("c1"), true),
                                       .member_config = config,
                                       .member = member_api_->client(),
                                       .hub = hub_api_->client()});
    ASSERT_TRUE(started) << started.error().message;
    agent_ = std::move(*started);
    ASSERT_TRUE(soon([this] { return agent_->tunnels() == 1; })) << agent_->failure();
  }
  /// As upstream's user server does it.
  void use_requests() {
    Http1HopOptions options;
    options.server = "https://" + konnectivity::service_proxy_host("c1") + ":7443";
    options.ca = ca_.certificate;
    options.connect = [this](std::function<void(Result<tcp::socket>)> done) {
      port_->dial("c1", konnectivity::service_proxy_host("c1") + ":7443", std::move(done));
    };
    use(options);
  }
  static serve::HttpRequest to_api_server(const std::string& path, const std::string& token) {
    serve::HttpRequest out = request("GET", path);
    out.headers = {{"cluster-proxy-proto", "https"},
                   {"cluster-proxy-namespace", "default"},
                   {"cluster-proxy-service", "kubernetes"},
                   {"cluster-proxy-port", "443"}};
    if (!token.empty()) out.headers.emplace_back("authorization", "Bearer " + token);
    return out;
  }
  std::shared_ptr<HopAnswer> ask(serve::HttpRequest request) {
    auto answer = send(std::move(request));
    EXPECT_TRUE(answer->has_ended());
    EXPECT_FALSE(answer->error()) << answer->error()->message;
    return answer;
  }
  std::optional<kube::Response> review(const testkit::ApiCall& call, const std::map<std::string, Json>& users) {
    if (call.plural != "tokenreviews") return std::nullopt;
    const std::lock_guard lock(mutex_);
    const std::string token = str(call.body, {"spec", "token"});
    const auto at = users.find(token);
    Json answer = call.body;
    answer["status"] = {{"authenticated", at != users.end()}};
    if (at != users.end()) answer["status"]["user"] = at->second;
    (&users == &member_users_ ? member_saw_ : hub_saw_).insert(token);
    return kube::Response{201, {{"content-type", "application/json"}}, dump_json(answer)};
  }
  serve::HttpRequest seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::set<std::string> member_saw() {
    const std::lock_guard lock(mutex_);
    return member_saw_;
  }
  /// What is said first by what stands at an address, or why it is not reached.
  std::string dial(const std::string& target) {
    std::promise<std::string> outcome;
    on_io_thread([&] {
      port_->dial("c1", target, [&](Result<tcp::socket> socket) {
        if (!socket) return outcome.set_value("error: " + socket.error().message);
        raw_ = std::move(*socket);
        outcome.set_value("connected");
      });
    });
    return outcome.get_future().get();
  }

  bool takes_hub_tokens_ = true;
  const std::map<std::string, Json> hub_users_ = {
      {"hub-account",
       {{"username", "system:serviceaccount:apps:bot"},
        {"uid", "7"},
        {"groups", {"system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated"}}}},
      {"hub-jane", {{"username", "jane"}, {"groups", {"devs", "system:masters", "system:authenticated"}}}},
      {"hub-node", {{"username", "system:node:n1"}, {"groups", {"system:nodes"}}}},
  };
  const std::map<std::string, Json> member_users_ = {{"member-account", {{"username", "system:serviceaccount:apps:bot"}}}};
  std::shared_ptr<testkit::FakeApi> hub_api_ = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> member_api_ = testkit::FakeApi::make();
  std::mutex mutex_;
  serve::HttpRequest seen_;
  std::set<std::string> member_saw_;
  std::set<std::string> hub_saw_;
  std::unique_ptr<serve::HttpListener> member_;
  std::shared_ptr<konnectivity::AgentPort> port_;
  std::unique_ptr<serve::HttpListener> port_listener_;
  std::unique_ptr<AgentServer> agent_;
  std::optional<tcp::socket> raw_;
};

TEST_F(AddonAgentServer, AnAccountOfTheHubActsByItsNameAndTheMemberNeverSeesItsToken) {
  const auto answer = ask(to_api_server("/api/v1/pods", "hub-account"));
  EXPECT_EQ(answer->status(), 200) << answer->body();
  EXPECT_EQ(answer->body(), "GET /api/v1/pods");
  const auto request = seen();
  EXPECT_EQ(request.header("impersonate-user"), "cluster:hub:system:serviceaccount:apps:bot");
  EXPECT_EQ(request.all("impersonate-group"),
            (std::vector<std::string>{"cluster:hub:system:serviceaccounts", "cluster:hub:system:serviceaccounts:apps"}));
  EXPECT_EQ(request.header("impersonate-uid"), "");
  EXPECT_EQ(request.header("authorization"), "Bearer " + std::string(kOwnToken));
  EXPECT_FALSE(member_saw().contains("hub-account"));
}

TEST_F(AddonAgentServer, ReservedGroupsOfTheHubDoNotCrossAndReservedUsersAreRefused) {
  EXPECT_EQ(ask(to_api_server("/api", "hub-jane"))->status(), 200);
  EXPECT_EQ(seen().header("impersonate-user"), "jane");
  EXPECT_EQ(seen().all("impersonate-group"), (std::vector<std::string>{"devs"}));
  const auto node = ask(to_api_server("/api/v1/secrets", "hub-node"));
  EXPECT_EQ(node->status(), 403) << node->body();
  EXPECT_EQ(seen().path, "/api");
  EXPECT_TRUE(member_saw().empty());
}

TEST_F(AddonAgentServer, ATokenOfTheMemberGoesThereAsItIs) {
  EXPECT_EQ(ask(to_api_server("/api", "member-account"))->status(), 200);
  EXPECT_EQ(seen().header("authorization"), "Bearer member-account");
  EXPECT_EQ(seen().header("impersonate-user"), "");
}

TEST_F(AddonAgentServer, WhoIsNobodyOrSomebodyElseGetsNoFurther) {
  EXPECT_EQ(ask(to_api_server("/a", ""))->status(), 401);
  EXPECT_EQ(ask(to_api_server("/a", "unknown"))->status(), 401);
  auto impersonating = to_api_server("/a", "member-account");
  impersonating.headers.emplace_back("impersonate-user", "admin");
  EXPECT_EQ(ask(impersonating)->status(), 403);
  auto two = to_api_server("/a", "member-account");
  two.headers.emplace_back("authorization", "Bearer hub-jane");
  EXPECT_EQ(ask(two)->status(), 401);
  auto named = to_api_server("/a", "");
  named.headers.emplace_back("fleetadm-user", "jane");
  EXPECT_EQ(ask(named)->status(), 401);
  serve::HttpRequest nowhere = request("GET", "/a");
  nowhere.headers = {{"authorization", "Bearer hub-jane"}};
  EXPECT_EQ(ask(nowhere)->status(), 400);
  EXPECT_EQ(seen().path, "");
}

TEST_F(AddonAgentServer, ForgedHeadersDoNotGoOn) {
  auto forged = to_api_server("/api", "hub-jane");
  for (const char* name : {"cookie", "x-remote-user", "x-forwarded-for", "forwarded", "x-real-ip", "via", "fleetadm-group"})
    forged.headers.emplace_back(name, "forged");
  EXPECT_EQ(ask(forged)->status(), 200);
  for (const auto& [name, value] : seen().headers) EXPECT_EQ(value.find("forged"), std::string::npos) << name;
  EXPECT_EQ(seen().header("cluster-proxy-service"), "");
}

TEST_F(AddonAgentServer, AServiceIsReachedByItsProxySubresourceAsTheCaller) {
  auto service = to_api_server("/metrics", "hub-jane");
  for (auto& [name, value] : service.headers) {
    if (name == "cluster-proxy-namespace") value = "web";
    if (name == "cluster-proxy-service") value = "shop";
  }
  service.query = "a=b";
  const auto answer = ask(service);
  EXPECT_EQ(answer->body(), "GET /api/v1/namespaces/web/services/https:shop:443/proxy/metrics?a=b");
  EXPECT_EQ(seen().header("impersonate-user"), "jane");
}

TEST_F(AddonAgentServer, TokensOfTheHubDoNotCountWhereTheHubSaysSo) {
  agent_.reset();
  takes_hub_tokens_ = false;
  ASSERT_NO_FATAL_FAILURE(start_agent());
  EXPECT_EQ(ask(to_api_server("/api", "hub-jane"))->status(), 401);
  EXPECT_EQ(ask(to_api_server("/api", "member-account"))->status(), 200);
}

TEST_F(AddonAgentServer, CommandsRunAsTheCallerAndStreamBothWays) {
  testkit::StreamLab lab;
  lab.add_pod("p", "exec sleep 1000");
  lab.allow("jane", {"get", "create"}, {"pods", "pods/exec"});
  agent_.reset();
  ASSERT_NO_FATAL_FAILURE(start_agent(lab.config()));
  // The user server: its headers, and on.
  serve::ListenOptions listen;
  listen.certificate = leaf("user", true);
  listen.streams_body = [](const serve::HttpRequest&) { return true; };
  auto user_server =
      serve::HttpListener::start_direct(io_, listen, [hop = hop_](serve::HttpRequest request, const serve::Reply& reply) {
        for (const auto& header : to_api_server("/", {}).headers) request.headers.push_back(header);
        hop->send(std::move(request), [reply](Result<serve::HttpResponse> answer) {
          reply(answer ? std::move(*answer) : serve::answer_text(502, answer.error().message));
        });
      });
  ASSERT_TRUE(user_server) << user_server.error().message;
  kube::RestConfig config;
  config.server = "https://127.0.0.1:" + std::to_string((*user_server)->port());
  config.ca_data = ca_.certificate;
  const auto exec = [&](const std::string& token) {
    kube::Credentials credentials;
    credentials.token = token;
    config.credentials = kube::static_credentials(credentials);
    kube::Request request;
    request.path = "/api/v1/namespaces/default/pods/p/exec";
    request.query = {{"stdin", "true"}, {"stdout", "true"}, {"command", "sh"}, {"command", "-c"}, {"command", "wc -c; exit 7"}};
    return kube::CommandStream::open(config, request);
  };
  auto stream = exec("hub-jane");
  ASSERT_TRUE(stream) << stream.error().message;
  const std::string much(3'000'000, 'x');
  for (std::string_view rest = much; !rest.empty();) {
    const auto taken = (*stream)->send_input(rest, std::chrono::seconds(20));
    ASSERT_TRUE(taken) << taken.error().message;
    ASSERT_GT(*taken, 0U);
    rest.remove_prefix(*taken);
  }
  ASSERT_TRUE((*stream)->end_input());
  std::string heard;
  while (!(*stream)->over()) {
    const auto piece = (*stream)->next(std::chrono::seconds(20));
    ASSERT_TRUE(piece) << piece.error().message;
    if (!*piece) break;
    heard += (*piece)->bytes;
  }
  EXPECT_EQ(heard, "3000000\n");
  EXPECT_EQ((*stream)->exit_code(), 7);
  auto refused = exec("hub-account");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403) << refused.error().message;
}

TEST_F(AddonAgentServer, NothingButTheApiServerAndTheServiceProxyIsReached) {
  for (const char* target : {"c1:22", "c1:6443", "c1.addons:80", "c2:443", "localhost:443", "127.0.0.1:443", "c1", "C1:443"})
    EXPECT_EQ(dial(target).find("error: "), 0U) << target;
  EXPECT_NE(dial(konnectivity::service_proxy_host("c1") + ":8000"), "connected");
  EXPECT_NE(dial(konnectivity::service_proxy_host("c2") + ":7443"), "connected");
  EXPECT_EQ(dial("c1.addons:443"), "connected");
}

TEST_F(AddonAgentServer, ANameOfTheApiServerLeadsThereUntouched) {
  on_io_thread([this] {
    hop_->close();
    hop_.reset();
  });
  Http1HopOptions options;
  options.server = "https://member:443";
  options.ca = ca_.certificate;
  options.connect = [this](std::function<void(Result<tcp::socket>)> done) { port_->dial("c1", "c1:443", std::move(done)); };
  use(options);
  serve::HttpRequest plain = request("GET", "/version");
  plain.headers = {{"authorization", "Bearer whatever"}, {"impersonate-user", "admin"}};
  EXPECT_EQ(ask(plain)->body(), "GET /version");
  EXPECT_EQ(seen().header("authorization"), "Bearer whatever") << "the caller speaks with the API server itself";
  EXPECT_TRUE(member_saw().empty());
}

}  // namespace
}  // namespace fleetadm::proxy
