// The agent's tunnels to several replicas of a konnectivity server behind one address.
#include "core/proxy/konnectivity/agent_tunnels.h"

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "core/proxy/konnectivity/agent_port.h"
#include "core/serve/http/server.h"

namespace fleetadm::konnectivity {
namespace {

class KonnectivityReplicas : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) ports_.push_back(make_port("s" + std::to_string(i)));
    serve::ListenOptions listen;
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    listen.certificate = *pki::issue(ca_, leaf);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    // A load balancer: each connection gets to one of them.
    auto started =
        serve::HttpListener::start_direct(runtime_, listen, [this](serve::HttpRequest request, const serve::Reply& reply) {
          ports_[static_cast<std::size_t>(came_++ / 2) % replicas_]->handle(std::move(request), reply);
        });
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(*started);
    AgentTunnelOptions options;
    pki::LeafOptions client;
    client.client = true;
    options.servers = {{"127.0.0.1", std::to_string(listener_->port())}};
    options.ca = ca_.certificate;
    options.certificate = [certificate = *pki::issue(ca_, client)]() -> Result<pki::KeyPair> { return certificate; };
    options.identifiers = "host=c1";
    options.accept = [](const std::string&, boost::asio::ip::tcp::socket) -> Status { return {}; };
    options.first_delay = std::chrono::milliseconds(10);
    options.longest_delay = std::chrono::milliseconds(100);
    tunnels_ = std::make_shared<AgentTunnels>(runtime_.executor(), options);
    runtime_.on_io_thread([this] { tunnels_->start(); });
  }
  void TearDown() override {
    runtime_.on_io_thread([this] {
      tunnels_->close();
      tunnels_.reset();
    });
    listener_.reset();
    runtime_.on_io_thread([this] { ports_.clear(); });
    runtime_.stop();
  }
  std::shared_ptr<AgentPort> make_port(const std::string& id) {
    AgentPortOptions options;
    options.server_id = id;
    options.servers = replicas_;
    options.cluster_of = [](const serve::HttpRequest&) -> Result<std::string> { return "c1"; };
    return std::make_shared<AgentPort>(runtime_.executor(), options);
  }
  /// How many tunnels each replica has.
  std::vector<std::size_t> spread() {
    std::vector<std::size_t> out;
    runtime_.on_io_thread([&] {
      for (const auto& port : ports_) out.push_back(port->tunnels("c1"));
    });
    return out;
  }
  static bool soon(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  serve::HttpRuntime runtime_{0};
  std::size_t replicas_ = 3;
  int came_ = 0;  // I/O thread
  std::vector<std::shared_ptr<AgentPort>> ports_;
  std::unique_ptr<serve::HttpListener> listener_;
  std::shared_ptr<AgentTunnels> tunnels_;
};

TEST_F(KonnectivityReplicas, EachReplicaGetsOneTunnel) {
  ASSERT_TRUE(soon([this] { return tunnels_->servers() == 3; })) << tunnels_->failure();
  EXPECT_TRUE(soon([this] { return spread() == std::vector<std::size_t>{1, 1, 1}; }));
  EXPECT_EQ(tunnels_->failure(), "");
}

TEST_F(KonnectivityReplicas, AReplicaThatWasLostIsFoundAgain) {
  ASSERT_TRUE(soon([this] { return tunnels_->servers() == 3; })) << tunnels_->failure();
  runtime_.on_io_thread([this] { ports_[1]->cut("c1"); });
  ASSERT_TRUE(soon([this] { return tunnels_->servers() < 3; }));
  EXPECT_TRUE(soon([this] { return tunnels_->servers() == 3; })) << tunnels_->failure();
  EXPECT_TRUE(soon([this] { return spread() == std::vector<std::size_t>{1, 1, 1}; }));
}

TEST_F(KonnectivityReplicas, ThereAreNoMoreTunnelsThanReplicas) {
  ASSERT_TRUE(soon([this] { return tunnels_->servers() == 3; })) << tunnels_->failure();
  runtime_.on_io_thread([this] {
    replicas_ = 1;
    ports_[0] = make_port("s9");
    for (const std::size_t i : {1U, 2U}) ports_[i]->cut("c1");
  });
  // The replica that is left has a new name, and one tunnel to it: the tunnel to the old one holds no place.
  ASSERT_TRUE(soon([this] { return spread() == std::vector<std::size_t>{1, 0, 0}; }));
  EXPECT_TRUE(soon([this] {
    int before = 0;
    int after = 0;
    runtime_.on_io_thread([&] { before = came_; });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    runtime_.on_io_thread([&] { after = came_; });
    return before == after;
  })) << "those that are too much go on trying";
}

}  // namespace
}  // namespace fleetadm::konnectivity
