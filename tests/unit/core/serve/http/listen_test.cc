// Where a listener binds, whether it speaks TLS, and whom it serves where all connections are taken: its caller's decisions.
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "core/serve/http/server.h"
#include "tests/support/raw_client.h"

namespace fleetadm::serve {
namespace {

class ListenTest : public testing::Test {
 protected:
  ListenTest() {
    ca_ = *pki::make_ca("listen", std::chrono::hours(1));
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    options_.certificate = *pki::issue(ca_, leaf);
  }
  auto start() {
    return HttpListener::start(runtime_, options_, [](const HttpRequest& request) { return answer_text(200, request.path); });
  }

  pki::KeyPair ca_;
  HttpRuntime runtime_{1};
  ListenOptions options_;
};

TEST_F(ListenTest, BindsWhatItsCallerSays) {
  options_.address = "0.0.0.0";
  const auto listener = start();
  ASSERT_TRUE(listener) << listener.error().message;
  pki::LeafOptions leaf;
  leaf.client = true;
  testkit::RawClient client((*listener)->port(), ca_.certificate, *pki::issue(ca_, leaf));
  std::string head;
  std::string rest;
  EXPECT_EQ(testkit::send_upgrade(client, "GET /here HTTP/1.1\r\nhost: 127.0.0.1\r\n", head, rest), 200);
}

TEST_F(ListenTest, RefusesOtherAddressesForLoopbackOnlyCallers) {
  options_.loopback_only = true;
  for (const char* address : {"0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1"}) {
    options_.address = address;
    const auto listener = start();
    ASSERT_FALSE(listener) << address;
    EXPECT_EQ(listener.error().category, Category::kUsage);
    EXPECT_NE(listener.error().message.find("not a loopback address"), std::string::npos);
  }
  options_.address = "127.0.0.2";
  EXPECT_TRUE(start());
}

TEST_F(ListenTest, RefusesWhatIsNoAddress) {
  for (const char* address : {"", "localhost", "127.0.0", "127.0.0.1:80"}) {
    options_.address = address;
    const auto listener = start();
    ASSERT_FALSE(listener) << address;
    EXPECT_EQ(listener.error().category, Category::kUsage);
  }
}

class PlainListenTest : public testing::Test {
 protected:
  using Client = boost::asio::ip::tcp::iostream;

  PlainListenTest() {
    options_.tls = false;
    options_.limits.connections = 3;
  }
  void start() {
    auto started = HttpListener::start(runtime_, options_, [](const HttpRequest& request) {
      return answer_text(200, request.path + (request.peer->loopback ? " from here" : " from elsewhere"));
    });
    ASSERT_TRUE(started) << started.error().message;
    listener_ = std::move(*started);
  }
  std::unique_ptr<Client> connect() {
    auto client = std::make_unique<Client>();
    client->expires_after(std::chrono::seconds(10));
    client->connect(boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"),
                                                   static_cast<std::uint16_t>(listener_->port())));
    return client;
  }
  /// The body of an answer; what stands instead of it where the connection has ended.
  static std::string ask(Client& client, const std::string& path) {
    client << "GET " << path << " HTTP/1.1\r\nhost: x\r\n\r\n" << std::flush;
    std::size_t size = 0;
    for (std::string line; std::getline(client, line) && line != "\r";) {
      if (line.starts_with("content-length: ")) size = std::stoul(line.substr(16));
    }
    std::string body(size, ' ');
    client.read(body.data(), static_cast<std::streamsize>(size));
    return client ? body : "no answer";
  }

  HttpRuntime runtime_{0};  // the I/O thread answers
  ListenOptions options_;
  std::unique_ptr<HttpListener> listener_;
};

TEST_F(PlainListenTest, AnswersWithoutTls) {
  start();
  EXPECT_EQ(listener_->endpoint(), "127.0.0.1:" + std::to_string(listener_->port()));
  const auto client = connect();
  EXPECT_EQ(ask(*client, "/one"), "/one from here");
  EXPECT_EQ(ask(*client, "/two"), "/two from here") << "on the same connection";
}

TEST_F(PlainListenTest, TurnsTheNextClientAwayWhereAllConnectionsAreTaken) {
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(ask(*clients.back(), "/"), "/ from here");
  }
  EXPECT_EQ(ask(*connect(), "/"), "no answer");
  for (const auto& client : clients) EXPECT_EQ(ask(*client, "/again"), "/again from here");
}

TEST_F(PlainListenTest, OrMakesRoomByTheOneWhoseLastRequestIsTheLongestAgo) {
  options_.evicts = true;
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(ask(*clients.back(), "/"), "/ from here");
  }
  EXPECT_EQ(ask(*clients[0], "/again"), "/again from here");
  const auto next = connect();
  EXPECT_EQ(ask(*next, "/next"), "/next from here");
  EXPECT_EQ(ask(*clients[1], "/"), "no answer");
  EXPECT_EQ(ask(*clients[0], "/"), "/ from here");
  EXPECT_EQ(ask(*clients[2], "/"), "/ from here");
}

}  // namespace
}  // namespace fleetadm::serve
