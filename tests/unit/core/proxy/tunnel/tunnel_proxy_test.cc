// Tunnels by way of a proxy: the gateway's name is known to that alone.
#include <memory>
#include <string>
#include <utility>

#include "tests/support/forward_proxy_server.h"
#include "tests/unit/core/proxy/tunnel/tunnel_lab.h"

namespace fleetadm::proxy {
namespace {

using testkit::ForwardProxyOptions;
using testkit::ForwardProxyServer;

class TunnelProxyTest : public TunnelTest {
 protected:
  void SetUp() override { start_gateway(); }

  ForwardProxyOptions to_gateway() const {
    ForwardProxyOptions options;
    options.ways["gateway.invalid:8443"] = static_cast<std::uint16_t>(server_->port());
    return options;
  }
  pki::KeyPair certificate() const {
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    return *pki::issue(proxy_ca_, leaf);
  }
  std::unique_ptr<TunnelClients> agent_by(const ForwardProxyServer& proxy, std::string ca = {}) {
    return agent_by(proxy.url(), std::move(ca), pki_.gateway_ca());
  }
  std::unique_ptr<TunnelClients> agent_by(const std::string& url, std::string ca, const std::string& gateway_ca) {
    kube::RestConfig hub;
    hub.proxy_url = url;
    hub.ca_data = std::move(ca);
    client_options_.proxy = [hub](const std::string& host) { return kube::forward_proxy(hub, host); };
    auto clients = agent(pki_.agent("c1"));
    EXPECT_TRUE(clients->set_gateways({"gateway.invalid:8443"}, gateway_ca));
    return clients;
  }
  void expect_echo() {
    ASSERT_TRUE(connected());
    const auto answer = send(get("/api?x=1"));
    ASSERT_TRUE(answer->has_ended());
    EXPECT_FALSE(answer->error());
    EXPECT_EQ(answer->body(), "GET /api?x=1");
  }
  /// What the state says once an attempt has failed.
  static std::string failure(const TunnelClients& clients) {
    std::string error;
    EXPECT_TRUE(comes_true([&] {
      for (const TunnelState& state : clients.states()) {
        if (state.gateway == "gateway.invalid:8443") error = state.error;
      }
      return !error.empty();
    }));
    return error;
  }
  void serve_one(serve::HttpRequest request, serve::Reply reply) override {
    if (request.path != "/long") return TunnelTest::serve_one(std::move(request), std::move(reply));
    reply(serve::answer_text(200, std::string(kLong, 'l')));
  }

  static constexpr std::size_t kLong = std::size_t{3} * 1024 * 1024;
  pki::KeyPair proxy_ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
};

TEST_F(TunnelProxyTest, GoesByAProxyWithItsCredentials) {
  auto options = to_gateway();
  options.credentials = "agent:pass";
  ForwardProxyServer proxy(options);
  const auto clients = agent_by(proxy);
  expect_echo();
  EXPECT_EQ(proxy.connected(), std::vector<std::string>{"gateway.invalid:8443"});
}

TEST_F(TunnelProxyTest, GoesByAProxyUnderTls) {
  auto options = to_gateway();
  options.certificate = certificate();
  ForwardProxyServer proxy(options);
  const auto clients = agent_by(proxy, proxy_ca_.certificate);
  expect_echo();
  const auto answer = send(get("/long"));
  ASSERT_TRUE(answer->has_ended());
  EXPECT_TRUE(answer->whole());
  EXPECT_EQ(answer->body().size(), kLong);
  serve::HttpRequest post = get("/post");
  post.method = "POST";
  post.body = std::string(kLong, 'b');
  const auto posted = send(post);
  ASSERT_TRUE(posted->has_ended());
  EXPECT_EQ(posted->body(), "POST /post");
  EXPECT_EQ(proxy.connected().size(), 1U);
}

TEST_F(TunnelProxyTest, NoticesThatTheProxyIsGone) {
  auto options = to_gateway();
  options.certificate = certificate();
  auto proxy = std::make_unique<ForwardProxyServer>(options);
  const auto clients = agent_by(*proxy, proxy_ca_.certificate);
  ASSERT_TRUE(connected());
  proxy.reset();
  EXPECT_TRUE(comes_true([&] { return !registry_->has("c1"); }));
  EXPECT_NE(failure(*clients), "");
}

TEST_F(TunnelProxyTest, AProxyThatItsCaDoesNotVouchForIsAskedNothing) {
  auto options = to_gateway();
  options.certificate = certificate();
  ForwardProxyServer proxy(options);
  const auto clients = agent_by(proxy, pki_.gateway_ca());
  EXPECT_NE(failure(*clients).find("cannot be trusted"), std::string::npos) << failure(*clients);
  EXPECT_TRUE(proxy.heads().empty());
}

TEST_F(TunnelProxyTest, TheGatewayIsVerifiedBehindTheProxy) {
  const auto other = pki::make_ca("other", std::chrono::hours(1));
  ForwardProxyServer proxy(to_gateway());
  const auto clients = agent_by(proxy.url(), {}, other->certificate);
  EXPECT_NE(failure(*clients).find("certificate"), std::string::npos) << failure(*clients);
  EXPECT_FALSE(proxy.connected().empty());
  EXPECT_FALSE(registry_->has("c1"));
}

TEST_F(TunnelProxyTest, SaysWhatTheProxyAnswers) {
  const std::pair<std::string, std::string> cases[] = {
      {"HTTP/1.1 403 Forbidden\r\n\r\n", "answered 403"},
      {"HTTP/1.0 407 \x1b[31mno\r\nX: y\r\n\r\n", "wants credentials (407)"},
      {"HTTP/1.1 302 Found\r\nLocation: http://other\r\n\r\n", "answered 302"},
      {"SSH-2.0-server\r\n\r\n", "does not speak HTTP"},
      {"HTTP/1.1 2x0 OK\r\n\r\n", "does not speak HTTP"},
      {"HTTP/1.1 200 OK\r\n\r\nmore", "says more than it was asked"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(std::size_t{64} * 1024, 'x'), "without end"},
  };
  for (const auto& [answer, expected] : cases) {
    auto options = to_gateway();
    options.answer = answer;
    ForwardProxyServer proxy(options);
    const auto clients = agent_by(proxy);
    EXPECT_NE(failure(*clients).find(expected), std::string::npos) << failure(*clients);
    EXPECT_EQ(failure(*clients).find("\x1b"), std::string::npos);
  }
}

TEST_F(TunnelProxyTest, AProxyThatSaysNothingIsGivenUp) {
  auto options = to_gateway();
  options.answer = "HTTP/1.1 200 OK\r\n";
  ForwardProxyServer proxy(options);
  client_options_.dial = std::chrono::milliseconds(300);
  const auto clients = agent_by(proxy);
  EXPECT_NE(failure(*clients).find("does not answer"), std::string::npos) << failure(*clients);
}

TEST_F(TunnelProxyTest, NoTunnelGoesBySocks) {
  const auto clients = agent_by("socks5://127.0.0.1:1", {}, pki_.gateway_ca());
  EXPECT_NE(failure(*clients).find("SOCKS"), std::string::npos) << failure(*clients);
}

}  // namespace
}  // namespace fleetadm::proxy
