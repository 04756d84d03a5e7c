// The agent's tunnel to a konnectivity server of the test's own.
#include "core/proxy/konnectivity/agent_tunnel.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <condition_variable>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/proxy/konnectivity/grpc_frames.h"
#include "core/serve/http/body_pipe.h"
#include "core/serve/http/server.h"
#include "tests/support/forward_proxy_server.h"

namespace fleetadm::konnectivity {
namespace {

using boost::asio::ip::tcp;

/// What the agent says, and what is said to it.
class SeenTunnel final : public serve::BodyStream {
 public:
  explicit SeenTunnel(std::shared_ptr<serve::BodyReader> content) : content_(std::move(content)) {}

  void say(const Packet& packet) {
    const std::lock_guard lock(mutex_);
    append_grpc_frame(outgoing_, encode_packet(packet));
    if (wake_) wake_();
  }
  /// The next packet of the agent's.
  std::optional<Packet> next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !came_.empty(); })) return std::nullopt;
    Packet packet = came_.front();
    came_.erase(came_.begin());
    return packet;
  }

  void cut() {
    const std::lock_guard lock(mutex_);
    cut_ = true;
    if (wake_) wake_();
  }

  More read(std::string& into, std::size_t most) override {
    const std::lock_guard lock(mutex_);
    if (cut_) return More::kCut;
    std::string bytes;
    const More more = content_->read(bytes, most);
    frames_.feed(bytes);
    while (true) {
      const auto message = frames_.next();
      if (!message || !*message) break;
      const auto packet = decode_packet(**message);
      if (packet) came_.push_back(*packet);
      changed_.notify_all();
    }
    into += std::exchange(outgoing_, {});
    return more;
  }
  void on_ready(std::function<void()> wake) override {
    {
      const std::lock_guard lock(mutex_);
      wake_ = wake;
    }
    content_->on_ready(std::move(wake));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<serve::BodyReader> content_;
  std::function<void()> wake_;
  GrpcFrames frames_{kMostPacketBytes};
  std::vector<Packet> came_;
  std::string outgoing_;
  bool cut_ = false;
};

/// A target that sends back what it gets.
class EchoTarget : public std::enable_shared_from_this<EchoTarget> {
 public:
  explicit EchoTarget(tcp::socket socket) : socket_(std::move(socket)) {}
  void run() {
    socket_.async_read_some(boost::asio::buffer(buffer_),
                            [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                              if (error) return;
                              boost::system::error_code ignored;
                              self->socket_.write_some(boost::asio::buffer(self->buffer_.data(), size), ignored);
                              self->run();
                            });
  }

 private:
  tcp::socket socket_;
  std::array<char, 4096> buffer_{};
};

class KonnectivityAgent : public testing::Test {
 protected:
  void SetUp() override {
    serve::ListenOptions listen;
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    listen.certificate = *pki::issue(ca_, leaf);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    auto started = serve::HttpListener::start_direct(runtime_, listen, [this](serve::HttpRequest request, serve::Reply reply) {
      if (request.peer->certificate != serve::Peer::Certificate::kValid || request.path != "/AgentService/Connect")
        return reply(serve::answer_text(403, "who?"));
      const auto port = std::make_shared<SeenTunnel>(request.content);
      serve::HttpResponse answer;
      answer.headers = {{"content-type", "application/grpc"}, {"serverid", "s1"}, {"servercount", "1"}};
      answer.stream = port;
      reply(std::move(answer));
      const std::lock_guard lock(mutex_);
      identifiers_ = request.header("agentidentifiers");
      agent_ids_.emplace_back(request.header("agentid"));
      port_ = port;
      changed_.notify_all();
    });
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(*started);
    pki::LeafOptions client;
    client.subject.common_name = "agent";
    client.client = true;
    options_.servers = {{"127.0.0.1", std::to_string(listener_->port())}};
    options_.ca = ca_.certificate;
    options_.certificate = [certificate = *pki::issue(ca_, client)]() -> Result<pki::KeyPair> { return certificate; };
    options_.identifiers = "host=c1&host=c1.ns";
    options_.first_delay = std::chrono::milliseconds(10);
    options_.accept = [](const std::string& address, tcp::socket socket) -> Status {
      if (address != "c1:443") return fail(Category::kNotFound, "nothing is served at " + address);
      std::make_shared<EchoTarget>(std::move(socket))->run();
      return {};
    };
  }
  void TearDown() override {
    runtime_.on_io_thread([this] {
      if (tunnel_) tunnel_->close();
      tunnel_.reset();
    });
    listener_.reset();
    runtime_.stop();
  }
  /// The server's end of a new stream.
  std::shared_ptr<SeenTunnel> connected() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return port_ != nullptr; });
    return std::exchange(port_, nullptr);
  }
  std::shared_ptr<SeenTunnel> start() {
    tunnel_ = std::make_shared<AgentTunnel>(runtime_.executor(), options_);
    runtime_.on_io_thread([this] { tunnel_->start(); });
    return connected();
  }
  /// By way of that proxy alone, which knows where the server is.
  void go_by(const testkit::ForwardProxyServer& proxy, const std::string& ca = {}) {
    options_.servers = {{"proxy-server.invalid", "8091"}};
    options_.server_name = "127.0.0.1";
    kube::RestConfig hub;
    hub.proxy_url = proxy.url();
    hub.ca_data = ca;
    options_.proxy = [hub](const std::string& host) { return kube::forward_proxy(hub, host); };
  }
  std::string failure() {
    tunnel_ = std::make_shared<AgentTunnel>(runtime_.executor(), options_);
    runtime_.on_io_thread([this] { tunnel_->start(); });
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (tunnel_->failure().empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return tunnel_->failure();
  }
  static Packet dial(std::int64_t random, std::string address = "c1:443") {
    return {.type = PacketType::kDialRequest, .protocol = "tcp", .address = std::move(address), .random = random};
  }

  pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  AgentTunnelOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<SeenTunnel> port_;
  std::string identifiers_;
  std::vector<std::string> agent_ids_;
  std::shared_ptr<AgentTunnel> tunnel_;
  serve::HttpRuntime runtime_{0};
  std::unique_ptr<serve::HttpListener> listener_;
};

TEST_F(KonnectivityAgent, AnnouncesItsNamesAndServesWhatIsDialed) {
  const auto port = start();
  ASSERT_TRUE(port) << tunnel_->failure();
  EXPECT_EQ(identifiers_, "host=c1&host=c1.ns");
  EXPECT_EQ(agent_ids_.at(0).size(), 36U);
  port->say(dial(5));
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kDialResponse, .random = 5, .connection = 1}));
  port->say({.type = PacketType::kData, .connection = 99, .data = "nobody's"});
  port->say({.type = PacketType::kData, .connection = 1, .data = "ping"});
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kData, .connection = 1, .data = "ping"}));
  port->say({.type = PacketType::kCloseRequest, .connection = 1});
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kCloseResponse, .connection = 1}));
  port->say(dial(6));
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kDialResponse, .random = 6, .connection = 2}));
}

TEST_F(KonnectivityAgent, SaysWhyATargetIsNotServed) {
  const auto port = start();
  ASSERT_TRUE(port) << tunnel_->failure();
  port->say(dial(5, "169.254.169.254:80"));
  EXPECT_EQ(port->next(),
            (Packet{.type = PacketType::kDialResponse, .random = 5, .error = "nothing is served at 169.254.169.254:80"}));
}

TEST_F(KonnectivityAgent, ATargetThatDoesNotReadLosesItsConnectionAlone) {
  std::optional<tcp::socket> held;
  options_.accept = [&](const std::string& address, tcp::socket socket) -> Status {
    if (address == "stuck:443") {
      held = std::move(socket);
    } else {
      std::make_shared<EchoTarget>(std::move(socket))->run();
    }
    return {};
  };
  const auto port = start();
  ASSERT_TRUE(port) << tunnel_->failure();
  port->say(dial(5, "stuck:443"));
  ASSERT_EQ(port->next()->connection, 1);
  port->say(dial(6));
  ASSERT_EQ(port->next()->connection, 2);
  const std::string piece(1'000'000, 'x');
  for (std::size_t sent = 0; sent < AgentStream::kMostHeld + 4 * piece.size(); sent += piece.size()) {
    port->say({.type = PacketType::kData, .connection = 1, .data = piece});
  }
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kCloseResponse, .connection = 1, .error = "the target does not read"}));
  port->say({.type = PacketType::kData, .connection = 2, .data = "ping"});
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kData, .connection = 2, .data = "ping"}));
  runtime_.on_io_thread([&] { held.reset(); });
}

TEST_F(KonnectivityAgent, ConnectsAgainWhenItsStreamIsCut) {
  auto port = start();
  ASSERT_TRUE(port) << tunnel_->failure();
  port->cut();
  port = connected();
  ASSERT_TRUE(port) << tunnel_->failure();
  port->say(dial(5));
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kDialResponse, .random = 5, .connection = 1}));
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(agent_ids_.size(), 2U);
  EXPECT_EQ(agent_ids_[0], agent_ids_[1]);  // the same agent
}

TEST_F(KonnectivityAgent, SaysWhyThereIsNoTunnel) {
  options_.server_name = "elsewhere";
  const std::string why = failure();
  EXPECT_TRUE(why.starts_with("the konnectivity server: ")) << why;
}

TEST_F(KonnectivityAgent, GoesByAProxyInTheClearAndUnderTls) {
  pki::LeafOptions leaf;
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  for (const bool tls : {false, true}) {
    testkit::ForwardProxyOptions of_proxy;
    of_proxy.credentials = "agent:pass";
    of_proxy.ways["proxy-server.invalid:8091"] = static_cast<std::uint16_t>(listener_->port());
    if (tls) of_proxy.certificate = *pki::issue(ca_, leaf);
    testkit::ForwardProxyServer proxy(of_proxy);
    go_by(proxy, ca_.certificate);
    const auto port = start();
    ASSERT_TRUE(port) << tunnel_->failure();
    port->say(dial(5));
    EXPECT_EQ(port->next(), (Packet{.type = PacketType::kDialResponse, .random = 5, .connection = 1}));
    const std::string piece(100'000, 'x');
    port->say({.type = PacketType::kData, .connection = 1, .data = piece});
    std::string back;
    while (back.size() < piece.size()) {
      const auto packet = port->next();
      ASSERT_TRUE(packet);
      back += packet->data;
    }
    EXPECT_EQ(back, piece);
    EXPECT_EQ(proxy.connected(), std::vector<std::string>{"proxy-server.invalid:8091"});
    runtime_.on_io_thread([this] { tunnel_->close(); });
  }
}

TEST_F(KonnectivityAgent, SaysThatAProxyRefusesItWithoutThePassword) {
  testkit::ForwardProxyOptions of_proxy;
  of_proxy.credentials = "agent:pass";
  testkit::ForwardProxyServer proxy(of_proxy);
  go_by(proxy);
  const std::string why = failure();
  EXPECT_NE(why.find("403"), std::string::npos) << why;
  EXPECT_EQ(why.find("pass"), std::string::npos) << why;
}

TEST_F(KonnectivityAgent, TellsTheServerBeforeItLeaves) {
  const auto port = start();
  ASSERT_TRUE(port) << tunnel_->failure();
  runtime_.on_io_thread([this] { tunnel_->drain(); });
  EXPECT_EQ(port->next(), (Packet{.type = PacketType::kDrain}));
}

}  // namespace
}  // namespace fleetadm::konnectivity
