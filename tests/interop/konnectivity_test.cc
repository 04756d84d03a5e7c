// Our konnectivity client through upstream's proxy-server and proxy-agent (of the project apiserver-network-proxy), as
// cluster-proxy deploys them.
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>

#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/konnectivity/agent_port.h"
#include "core/proxy/konnectivity/agent_tunnel.h"
#include "core/proxy/konnectivity/front_client.h"
#include "core/sandbox/node/child.h"
#include "core/serve/http/server.h"
#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_stream.h"
#include "tests/interop/peers.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {
namespace {

constexpr auto kTunnelPatience = std::chrono::seconds(30);

class KonnectivityPeers : public testing::Test {
 protected:
  void SetUp() override {
    const auto peers = peers_folder({"proxy-server", "proxy-agent"});
    if (!peers) GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's programs (proxy-server, proxy-agent)";
    write("ca.crt", ca_.certificate);
    const pki::KeyPair server = leaf(true);
    const pki::KeyPair client = leaf(false);
    write("tls.crt", server.certificate);
    write("tls.key", server.key);
    write("client.crt", client.certificate);
    write("client.key", client.key);
    start_member(server);
    agent_port_ = std::to_string(free_port());
    front_.host = "127.0.0.1";
    front_.port = std::to_string(free_port());
    front_.ca = ca_.certificate;
    front_.certificate = client;
    run(*peers + "/proxy-server",
        {"--server-count=1", "--proxy-strategies=destHost", "--server-bind-address=127.0.0.1", "--server-port=" + front_.port,
         "--agent-bind-address=127.0.0.1", "--agent-port=" + agent_port_, "--health-bind-address=127.0.0.1",
         "--health-port=" + std::to_string(free_port()), "--admin-port=" + std::to_string(free_port()),
         "--server-ca-cert=" + file("ca.crt"), "--server-cert=" + file("tls.crt"), "--server-key=" + file("tls.key"),
         "--cluster-ca-cert=" + file("ca.crt"), "--cluster-cert=" + file("tls.crt"), "--cluster-key=" + file("tls.key")},
        "server.log");
  }
  void TearDown() override {
    runtime_.on_io_thread([this] {
      if (tunnel_) tunnel_->close();
      for (const auto& connection : served_) connection->close();
      served_.clear();
      tunnel_.reset();
    });
    children_.clear();
    port_listener_.reset();
    runtime_.on_io_thread([this] { port_.reset(); });
    if (hop_) {
      runtime_.on_io_thread([this] {
        hop_->close();
        hop_.reset();
      });
    }
    member_.reset();
    runtime_.stop();
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name), std::ios::binary) << text; }
  std::string log_of(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  pki::KeyPair leaf(bool server) const {
    pki::LeafOptions leaf;
    leaf.subject.common_name = server ? "localhost" : "client";
    if (server) leaf.dns_names = {"localhost"};
    if (server) leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = server;
    leaf.client = !server;
    return *pki::issue(ca_, leaf);
  }
  void run(const std::string& program, std::vector<std::string> args, const std::string& log) {
    sandbox::ChildSpec spec;
    spec.program = program;
    spec.args = std::move(args);
    spec.output_file = file(log);
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    children_.push_back(std::move(*child));
  }
  void start_upstream_agent() {
    run(*peers_folder() + "/proxy-agent",
        {"--proxy-server-host=127.0.0.1", "--proxy-server-port=" + agent_port_, "--agent-identifiers=host=localhost",
         "--health-server-port=" + std::to_string(free_port()), "--admin-server-port=" + std::to_string(free_port()),
         "--ca-cert=" + file("ca.crt"), "--agent-cert=" + file("client.crt"), "--agent-key=" + file("client.key")},
        "agent.log");
  }
  /// Our server's end takes the place of upstream's; agents are those of cluster "localhost".
  void start_our_port() {
    konnectivity::AgentPortOptions options;
    options.server_id = "ours";
    options.cluster_of = [](const serve::HttpRequest& request) -> Result<std::string> {
      if (request.peer->certificate == serve::Peer::Certificate::kValid) return "localhost";
      return fail(Category::kAuth, "no valid certificate");
    };
    port_ = std::make_shared<konnectivity::AgentPort>(runtime_.executor(), options);
    serve::ListenOptions listen;
    listen.certificate = leaf(true);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    auto started = serve::HttpListener::start_direct(
        runtime_, listen,
        [port = port_](serve::HttpRequest request, const serve::Reply& reply) { port->handle(std::move(request), reply); });
    ASSERT_TRUE(started) << started.error().message;
    port_listener_ = std::move(*started);
    agent_port_ = std::to_string(port_listener_->port());
  }
  /// Ours, which serves the connections itself.
  void start_our_agent() {
    const auto tls = serve::make_server_tls(leaf(true), {});
    ASSERT_TRUE(tls) << tls.error().message;
    konnectivity::AgentTunnelOptions options;
    options.servers = {{"127.0.0.1", agent_port_}};
    options.ca = ca_.certificate;
    options.certificate = [certificate = leaf(false)]() -> Result<pki::KeyPair> { return certificate; };
    options.identifiers = "host=localhost";
    options.first_delay = std::chrono::milliseconds(50);
    options.accept = [this, tls = *tls](const std::string&, boost::asio::ip::tcp::socket socket) -> Status {
      auto stream = serve::TlsStream::accept(socket.native_handle(), tls->native_handle());
      auto connection = std::make_shared<serve::Connection>(std::move(socket), std::move(stream), serve::HttpLimits{}, nullptr);
      served_.push_back(connection);
      connection->start(
          [](serve::ProtocolHost host, const serve::SocketStream&) {
            host.handle = answer;
            return serve::make_http1(std::move(host));
          },
          [](const std::shared_ptr<serve::Connection>&) {});
      return {};
    };
    tunnel_ = std::make_shared<konnectivity::AgentTunnel>(runtime_.executor(), options);
    runtime_.on_io_thread([this] { tunnel_->start(); });
  }
  static void answer(const serve::HttpRequest& request, const serve::Reply& reply) {
    reply(serve::answer_text(200, request.path == "/much" ? std::string(3'000'000, 'x') : request.method + request.path));
  }
  /// The first answer, once the agent has found its server.
  std::string first_answer() {
    std::string answer;
    const auto until = std::chrono::steady_clock::now() + kTunnelPatience;
    while ((answer = get("/version")).starts_with("error") && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return answer;
  }
  /// What stands behind the agent: an HTTPS server.
  void start_member(const pki::KeyPair& certificate) {
    serve::ListenOptions listen;
    listen.certificate = certificate;
    auto started = serve::HttpListener::start_direct(runtime_, listen, answer);
    ASSERT_TRUE(started) << started.error().message;
    member_ = std::move(*started);
  }
  void open_hop(std::function<void(std::function<void(Result<boost::asio::ip::tcp::socket>)>)> connect = nullptr) {
    proxy::Http1HopOptions options;
    options.server = "https://localhost:" + std::to_string(member_->port());
    options.ca = ca_.certificate;
    options.connect = [this](std::function<void(Result<boost::asio::ip::tcp::socket>)> done) {
      konnectivity::dial_through_front(runtime_.executor(), front_, "localhost:" + std::to_string(member_->port()),
                                       std::move(done));
    };
    if (connect) options.connect = std::move(connect);
    auto made = proxy::Http1Hop::make(runtime_.executor(), options);
    ASSERT_TRUE(made) << made.error().message;
    runtime_.on_io_thread([&] { hop_ = *made; });
  }
  /// The answer's body, or why there is none.
  std::string get(const std::string& path) {
    const auto outcome = std::make_shared<std::promise<std::string>>();
    const auto body = std::make_shared<std::string>();
    runtime_.on_io_thread([&] {
      serve::HttpRequest request;
      request.method = "GET";
      request.path = path;
      hop_->send(std::move(request), [outcome, body](Result<serve::HttpResponse> answer) {
        if (!answer) return outcome->set_value("error: " + answer.error().message);
        if (!answer->stream) return outcome->set_value(answer->body);
        const auto stream = answer->stream;
        const auto pull = std::make_shared<std::function<void()>>();
        *pull = [outcome, body, weak = std::weak_ptr(pull), stream] {
          serve::BodyStream::More more{};
          do more = stream->read(*body, 65536);
          while (more == serve::BodyStream::More::kYes);
          if (more == serve::BodyStream::More::kLater) return;
          outcome->set_value(more == serve::BodyStream::More::kEnd ? *body : "cut");
        };
        stream->on_ready([pull] { (*pull)(); });
        (*pull)();
      });
    });
    auto known = outcome->get_future();
    return known.wait_for(kTunnelPatience) == std::future_status::ready ? known.get() : "no answer";
  }

  TemporaryFolder folder_;
  pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  konnectivity::FrontOptions front_;
  std::vector<sandbox::Child> children_;
  serve::HttpRuntime runtime_{0};
  std::string agent_port_;
  std::shared_ptr<konnectivity::AgentPort> port_;
  std::unique_ptr<serve::HttpListener> port_listener_;
  std::shared_ptr<konnectivity::AgentTunnel> tunnel_;
  std::vector<std::shared_ptr<serve::Connection>> served_;
  std::unique_ptr<serve::HttpListener> member_;
  std::shared_ptr<proxy::Http1Hop> hop_;
};

TEST_F(KonnectivityPeers, RequestsReachTheMemberThroughUpstreamsServerAndAgent) {
  ASSERT_NO_FATAL_FAILURE(start_upstream_agent());
  ASSERT_NO_FATAL_FAILURE(open_hop());
  EXPECT_EQ(first_answer(), "GET/version") << log_of("server.log") << log_of("agent.log");
  EXPECT_EQ(get("/much").size(), 3'000'000U);
  EXPECT_EQ(get("/again"), "GET/again");
}

TEST_F(KonnectivityPeers, RequestsReachOurAgentThroughUpstreamsServer) {
  ASSERT_NO_FATAL_FAILURE(start_our_agent());
  ASSERT_NO_FATAL_FAILURE(open_hop());
  EXPECT_EQ(first_answer(), "GET/version") << log_of("server.log") << tunnel_->failure();
  EXPECT_EQ(get("/much").size(), 3'000'000U);
  EXPECT_EQ(get("/again"), "GET/again");
}

TEST_F(KonnectivityPeers, RequestsReachTheMemberThroughOurPortAndUpstreamsAgent) {
  ASSERT_NO_FATAL_FAILURE(start_our_port());
  ASSERT_NO_FATAL_FAILURE(start_upstream_agent());
  ASSERT_NO_FATAL_FAILURE(open_hop([this](std::function<void(Result<boost::asio::ip::tcp::socket>)> done) {
    port_->dial("localhost", "localhost:" + std::to_string(member_->port()), std::move(done));
  }));
  EXPECT_EQ(first_answer(), "GET/version") << log_of("agent.log");
  EXPECT_EQ(get("/much").size(), 3'000'000U);
  EXPECT_EQ(get("/again"), "GET/again");
}

TEST_F(KonnectivityPeers, ANameThatNoAgentAnnouncesIsToldAsSuch) {
  ASSERT_NO_FATAL_FAILURE(open_hop());
  std::string answer;
  const auto until = std::chrono::steady_clock::now() + kTunnelPatience;
  const auto ask = [this] {
    std::promise<std::string> outcome;
    runtime_.on_io_thread([&] {
      konnectivity::dial_through_front(
          runtime_.executor(), front_, "elsewhere:443",
          [&](Result<boost::asio::ip::tcp::socket> socket) { outcome.set_value(socket ? "connected" : socket.error().message); });
    });
    return outcome.get_future().get();
  };
  while ((answer = ask()).find("No agent available") == std::string::npos && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until the server listens
  }
  EXPECT_EQ(answer.substr(0, answer.find("No agent")), "cannot reach elsewhere:443 through konnectivity: ") << answer;
}

}  // namespace
}  // namespace fleetadm::testkit
