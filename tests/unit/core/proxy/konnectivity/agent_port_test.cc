// Our agent's end and our server's end of konnectivity's tunnels, together.
#include "core/proxy/konnectivity/agent_port.h"

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <thread>

#include "core/proxy/konnectivity/agent_tunnel.h"
#include "core/proxy/konnectivity/identifiers.h"
#include "core/serve/http/server.h"

namespace fleetadm::konnectivity {
namespace {

using boost::asio::ip::tcp;

TEST(KonnectivityIdentifiers, OnlyTheClustersOwnNamesAreTaken) {
  const std::string proxy_host = service_proxy_host("c1");
  EXPECT_EQ(proxy_host.size(), std::string("cluster-").size() + 48 + std::string(".open-cluster-management.proxy").size());
  EXPECT_EQ(foreign_identifier("host=c1&host=c1.open-cluster-management-cluster-proxy&host=" + proxy_host, "c1"), std::nullopt);
  EXPECT_EQ(foreign_identifier("host=%631", "c1"), std::nullopt);
  EXPECT_EQ(foreign_identifier("host=c1&host=c2", "c1"), "host=c2");
  EXPECT_EQ(foreign_identifier("host=" + service_proxy_host("c2"), "c1"), "host=" + service_proxy_host("c2"));
  for (const char* foreign : {"host=C1", "host=c11", "host=c1.a.b", "host=c1.", "host=", "host", "ipv4=10.0.0.1",
                              "cidr=0.0.0.0/0", "default-route=true", "host=c1%00", "host=c%zz"}) {
    EXPECT_EQ(foreign_identifier(foreign, "c1"), foreign);
  }
}

class KonnectivityPort : public testing::Test {
 protected:
  void SetUp() override {
    AgentPortOptions options;
    options.server_id = "s1";
    options.cluster_of = [this](const serve::HttpRequest& request) -> Result<std::string> {
      if (request.peer->certificate != serve::Peer::Certificate::kValid || request.peer->sha256 == refused_)
        return fail(Category::kAuth, "unknown certificate");
      return request.peer->common_name;  // here, the test's certificates say it
    };
    options.dial = std::chrono::milliseconds(500);
    options.settled = settled_;
    port_ = std::make_shared<AgentPort>(runtime_.executor(), options);
    serve::ListenOptions listen;
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    listen.certificate = *pki::issue(ca_, leaf);
    listen.client_ca = ca_.certificate;
    listen.streams_body = [](const serve::HttpRequest&) { return true; };
    auto started = serve::HttpListener::start_direct(
        runtime_, listen,
        [port = port_](serve::HttpRequest request, const serve::Reply& reply) { port->handle(std::move(request), reply); });
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(*started);
  }
  void TearDown() override {
    runtime_.on_io_thread([this] {
      for (const auto& tunnel : tunnels_) tunnel->close();
      tunnels_.clear();
      socket_.reset();
      held_.reset();
    });
    listener_.reset();
    runtime_.on_io_thread([this] { port_.reset(); });
    runtime_.stop();
  }
  /// `name`: what its targets say first; the cluster's, where it is empty.
  std::shared_ptr<AgentTunnel> agent(const std::string& cluster, const std::string& identifiers, std::string name = {}) {
    if (name.empty()) name = cluster;
    AgentTunnelOptions options;
    pki::LeafOptions client;
    client.subject.common_name = cluster;
    client.client = true;
    options.servers = {{"127.0.0.1", std::to_string(listener_->port())}};
    options.ca = ca_.certificate;
    options.certificate = [certificate = *pki::issue(ca_, client)]() -> Result<pki::KeyPair> { return certificate; };
    options.identifiers = identifiers;
    options.greeted = [this](const ServerGreeting& server) {
      told_servers_ = server.servers;
      return true;
    };
    options.accept = [this, name](const std::string& address, tcp::socket socket) -> Status {
      if (address == "refused:443") return fail(Category::kUnavailable, "connection refused");
      held_ = std::move(socket);
      boost::system::error_code ignored;
      held_->write_some(boost::asio::buffer(name), ignored);
      return {};
    };
    tunnels_.push_back(std::make_shared<AgentTunnel>(runtime_.executor(), options));
    runtime_.on_io_thread([&] { tunnels_.back()->start(); });
    return tunnels_.back();
  }
  bool has_tunnel(const std::string& cluster, std::size_t wanted = 1) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      std::size_t count = 0;
      runtime_.on_io_thread([&] { count = port_->tunnels(cluster); });
      if (count >= wanted) return true;
      std::this_thread::yield();
    }
    return false;
  }
  /// What the target says first, or why there is none.
  std::string dial(const std::string& cluster, const std::string& target) {
    const auto outcome = std::make_shared<std::promise<std::string>>();
    const auto buffer = std::make_shared<std::array<char, 100>>();
    runtime_.on_io_thread([&] {
      port_->dial(cluster, target, [this, outcome, buffer](Result<tcp::socket> socket) {
        if (!socket) return outcome->set_value("error: " + socket.error().message);
        socket_ = std::move(*socket);
        socket_->async_read_some(boost::asio::buffer(*buffer),
                                 [outcome, buffer](const boost::system::error_code&, std::size_t size) {
                                   outcome->set_value(std::string(buffer->data(), size));
                                 });
      });
    });
    auto known = outcome->get_future();
    return known.wait_for(std::chrono::seconds(20)) == std::future_status::ready ? known.get() : "nothing";
  }

  pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  std::string refused_ = "none";
  std::chrono::milliseconds settled_{2000};
  std::shared_ptr<AgentPort> port_;
  std::vector<std::shared_ptr<AgentTunnel>> tunnels_;
  std::optional<tcp::socket> socket_;
  std::optional<tcp::socket> held_;
  std::atomic<std::size_t> told_servers_{0};
  serve::HttpRuntime runtime_{0};
  std::unique_ptr<serve::HttpListener> listener_;
};

TEST_F(KonnectivityPort, DialsThroughTheTunnelOfTheCluster) {
  agent("c1", "host=c1");
  agent("c2", "host=c2");
  ASSERT_TRUE(has_tunnel("c1") && has_tunnel("c2"));
  EXPECT_EQ(dial("c1", "c1:443"), "c1");
  EXPECT_EQ(dial("c2", "c1:443"), "c2");  // the name that is dialed does not choose the tunnel
  EXPECT_EQ(dial("c1", "refused:443"), "error: cannot reach refused:443 through konnectivity: connection refused");
  EXPECT_EQ(dial("c3", "c3:443"), "error: cluster \"c3\" has no tunnel");
}

/// Of two agents of one cluster, which one is asked: each says who it is.
TEST_F(KonnectivityPort, ATunnelThatHasJustComeCarriesNothingWhileThereIsAnother) {
  agent("c1", "host=c1", "first");
  ASSERT_TRUE(has_tunnel("c1"));
  EXPECT_EQ(dial("c1", "c1:443"), "first") << "there is no other";
  agent("c1", "host=c1", "second");
  ASSERT_TRUE(has_tunnel("c1", 2));
  EXPECT_EQ(dial("c1", "c1:443"), "first") << "the second may be looking for another replica";
}

class KonnectivityPortOfSettledAgents : public KonnectivityPort {
 protected:
  KonnectivityPortOfSettledAgents() { settled_ = std::chrono::milliseconds(0); }
};

TEST_F(KonnectivityPortOfSettledAgents, TheNewestTunnelIsTheOneThatLives) {
  agent("c1", "host=c1", "first");
  ASSERT_TRUE(has_tunnel("c1"));
  agent("c1", "host=c1", "second");
  ASSERT_TRUE(has_tunnel("c1", 2));
  EXPECT_EQ(dial("c1", "c1:443"), "second");
}

TEST_F(KonnectivityPort, RefusesAnAgentThatAnnouncesAnotherCluster) {
  const auto liar = agent("c2", "host=c2&host=c1");
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (liar->failure().empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_NE(liar->failure().find("403"), std::string::npos) << liar->failure();
  EXPECT_EQ(dial("c1", "c1:443"), "error: cluster \"c1\" has no tunnel");
  EXPECT_EQ(dial("c2", "c2:443"), "error: cluster \"c2\" has no tunnel");
}

TEST_F(KonnectivityPort, KnowsWhoseANameIs) {
  const auto cluster_of = [this](const std::string& host) {
    std::optional<std::string> cluster;
    runtime_.on_io_thread([&] { cluster = port_->cluster_of_host(host); });
    return cluster.value_or("");
  };
  EXPECT_EQ(cluster_of("c1"), "");
  agent("c1", "host=c1");
  ASSERT_TRUE(has_tunnel("c1"));
  for (const std::string& host : {std::string("c1"), std::string("c1.addons"), service_proxy_host("c1")})
    EXPECT_EQ(cluster_of(host), "c1") << host;
  for (const std::string& host : {std::string("c2"), std::string("c1.a.b"), std::string("C1"), std::string("c1."), std::string(),
                                  std::string("c1.ADDONS"), service_proxy_host("c2")})
    EXPECT_EQ(cluster_of(host), "") << host;
}

TEST_F(KonnectivityPort, CutsTheTunnelsOfAClusterThatIsNoLongerAccepted) {
  agent("c1", "host=c1");
  ASSERT_TRUE(has_tunnel("c1"));
  runtime_.on_io_thread([this] {
    port_->cut("c1");
    EXPECT_EQ(port_->tunnels("c1"), 0U);
  });
}

TEST_F(KonnectivityPort, AgentsThatWereToldOfFewerReplicasAreSentToLookForTheOthers) {
  agent("c1", "host=c1");
  ASSERT_TRUE(has_tunnel("c1"));
  const auto expect = [this](std::size_t servers) {
    std::size_t left = 0;
    runtime_.on_io_thread([&] {
      port_->expect_servers(servers);
      left = port_->tunnels("c1");
    });
    return left;
  };
  EXPECT_EQ(expect(1), 1U) << "it knows of that one";
  ASSERT_EQ(dial("c1", "c1:443"), "c1");
  EXPECT_EQ(expect(2), 1U) << "a connection is open";
  runtime_.on_io_thread([this] { socket_.reset(); });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (told_servers_ != 2 && std::chrono::steady_clock::now() < until) {
    expect(2);
    std::this_thread::yield();
  }
  EXPECT_EQ(told_servers_, 2U) << "it has connected again";
  ASSERT_TRUE(has_tunnel("c1"));
  EXPECT_EQ(expect(2), 1U) << "it has been told";
}

TEST_F(KonnectivityPort, TakesNoNewConnectionsOnATunnelThatDrains) {
  const auto tunnel = agent("c1", "host=c1");
  ASSERT_TRUE(has_tunnel("c1"));
  runtime_.on_io_thread([&] { tunnel->drain(); });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t count = 1;
  while (count > 0 && std::chrono::steady_clock::now() < until) runtime_.on_io_thread([&] { count = port_->tunnels("c1"); });
  EXPECT_EQ(dial("c1", "c1:443"), "error: cluster \"c1\" has no tunnel");
}

}  // namespace
}  // namespace fleetadm::konnectivity
