// A hop and servers that are gone, slow, broken, hostile, or not who they should be.
#include <arpa/inet.h>
#include <atomic>
#include <map>
#include <netinet/in.h>
#include <poll.h>
#include <stop_token>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "kubeclient/base/owned_fd.h"
#include "tests/support/tls_server.h"
#include "tests/unit/core/proxy/hop/hop_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;
using testkit::TlsRequest;
using testkit::TlsServer;
using testkit::TlsWrite;

class Http1HopFaults : public HopLab {
 protected:
  void expect_tls_failure(const pki::KeyPair& certificate, const std::string& why) {
    std::atomic<int> asked{0};
    TlsServer server(certificate, [&](const TlsRequest&, const TlsWrite& write) {
      ++asked;
      return write(TlsServer::response(200, "{}"));
    });
    use(options_for(server.port()));
    auto secret = request("GET", "/");
    secret.headers = {{"authorization", "Bearer secret"}};
    const auto answer = send(secret);
    ASSERT_TRUE(answer->has_ended());
    ASSERT_TRUE(answer->error());
    EXPECT_EQ(answer->error()->category, Category::kTls);
    EXPECT_EQ(answer->error()->code, 502);
    EXPECT_NE(answer->error()->message.find(why), std::string::npos) << answer->error()->message;
    EXPECT_EQ(answer->error()->message.find("secret"), std::string::npos);
    EXPECT_EQ(asked, 0);
    on_io_thread([this] { hop_->close(); });
  }
};

TEST_F(Http1HopFaults, AServerThatIsNotTheOneIsToldNothing) {
  pki::LeafOptions leaf;
  leaf.server = true;
  leaf.ip_addresses = {"127.0.0.1"};
  const auto foreign = *pki::make_ca("members", 1h);
  expect_tls_failure(*pki::issue(foreign, leaf), "certificate");
  leaf.ip_addresses = {"127.0.0.2"};
  expect_tls_failure(*pki::issue(ca_, leaf), "mismatch");
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.backdate = 2h;
  leaf.validity = -1h;
  expect_tls_failure(*pki::issue(ca_, leaf), "expired");
}

TEST_F(Http1HopFaults, TheNameOfTheCertificateMayBeAnother) {
  pki::LeafOptions leaf;
  leaf.server = true;
  leaf.dns_names = {"kubernetes.default.svc"};
  TlsServer server(*pki::issue(ca_, leaf),
                   [](const TlsRequest&, const TlsWrite& write) { return write(TlsServer::response(200, "{}")); });
  auto options = options_for(server.port());
  options.tls_server_name = "kubernetes.default.svc";
  use(options);
  EXPECT_EQ(get_and_wait("/")->body(), "{}");
}

TEST_F(Http1HopFaults, AServerThatIsDownOrPlainIsAnError) {
  int port = 0;
  {
    TlsServer server(server_certificate(), [](const TlsRequest&, const TlsWrite&) { return false; });
    port = server.port();
  }
  use(options_for(port));
  const auto refused = get_and_wait("/");
  ASSERT_TRUE(refused->error());
  EXPECT_EQ(refused->error()->category, Category::kUnavailable);
  EXPECT_EQ(refused->error()->message, "member: cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
  on_io_thread([this] { hop_->close(); });

  TlsServer plain(
      server_certificate(), [](const TlsRequest&, const TlsWrite&) { return false; }, false);
  use(options_for(plain.port()));
  const auto no_tls = get_and_wait("/");
  ASSERT_TRUE(no_tls->error());
  EXPECT_EQ(no_tls->error()->category, Category::kTls);
}

TEST_F(Http1HopFaults, NamesThatNobodyHasAreAnError) {
  auto options = options_for(443);
  options.server = "https://no-such-host.invalid";
  use(options);
  const auto answer = get_and_wait("/");
  ASSERT_TRUE(answer->error());
  EXPECT_NE(answer->error()->message.find("no-such-host.invalid"), std::string::npos);
}

TEST_F(Http1HopFaults, SilenceEndsAtTheDeadline) {
  std::atomic<bool> over{false};
  TlsServer server(server_certificate(), [&](const TlsRequest&, const TlsWrite&) {
    for (int i = 0; i < 500 && !over; ++i) std::this_thread::sleep_for(20ms);
    return false;
  });
  auto options = options_for(server.port());
  options.head = 300ms;
  use(options);
  const auto begun = std::chrono::steady_clock::now();
  const auto answer = get_and_wait("/");
  over = true;
  ASSERT_TRUE(answer->error());
  EXPECT_EQ(answer->error()->code, 504);
  EXPECT_EQ(answer->error()->category, Category::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
  EXPECT_EQ(server.connections(), 1) << "what may be under way is not asked again";
}

TEST_F(Http1HopFaults, AHeadInDropsEndsAtTheDeadlineToo) {
  TlsServer server(server_certificate(), [](const TlsRequest&, const TlsWrite& write) {
    if (!write("HTTP/1.1 200 OK\r\nX: ")) return false;
    for (int i = 0; i < 500 && write("x"); ++i) std::this_thread::sleep_for(20ms);
    return false;
  });
  auto options = options_for(server.port());
  options.head = 400ms;
  use(options);
  const auto begun = std::chrono::steady_clock::now();
  const auto answer = get_and_wait("/");
  ASSERT_TRUE(answer->error());
  EXPECT_EQ(answer->error()->code, 504);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
}

/// A socket that listens, and never takes a connection.
class DeafPort {
 public:
  DeafPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = static_cast<sockaddr*>(static_cast<void*>(&address));
    ::bind(listener_.get(), generic, size);
    ::listen(listener_.get(), 0);
    ::getsockname(listener_.get(), generic, &size);
    address_ = address;
  }
  int port() const { return ntohs(address_.sin_port); }
  /// Until the kernel takes none either.
  void fill() {
    while (true) {
      OwnedFd waiting(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      ::connect(waiting.get(), static_cast<sockaddr*>(static_cast<void*>(&address_)), sizeof address_);
      pollfd ready{waiting.get(), POLLOUT, 0};
      const bool connected = ::poll(&ready, 1, 300) == 1;
      waiting_.push_back(std::move(waiting));
      if (!connected) return;
    }
  }

 private:
  OwnedFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address_{};
  std::vector<OwnedFd> waiting_;
};

TEST_F(Http1HopFaults, NoConnectionAndNoHandshakeEndAtTheirDeadlines) {
  DeafPort server;
  auto options = options_for(server.port());
  options.handshake = 1s;
  options.dial = 300ms;
  use(options);
  const auto no_handshake = get_and_wait("/");
  ASSERT_TRUE(no_handshake->error());
  EXPECT_EQ(no_handshake->error()->code, 504);
  EXPECT_NE(no_handshake->error()->message.find("handshake"), std::string::npos);
  server.fill();
  const auto no_connection = get_and_wait("/");
  ASSERT_TRUE(no_connection->error());
  EXPECT_EQ(no_connection->error()->category, Category::kTimeout);
  EXPECT_NE(no_connection->error()->message.find("nobody answers"), std::string::npos) << no_connection->error()->message;
  EXPECT_EQ(counts().open, 0U);
}

TEST_F(Http1HopFaults, AClientThatLeavesEndsItsConnectionOrItsTurn) {
  std::atomic<int> asked{0};
  std::atomic<bool> over{false};
  TlsServer server(server_certificate(), [&](const TlsRequest& request, const TlsWrite& write) {
    if (request.target == "/quick") return write(TlsServer::response(200, "{}"));
    ++asked;
    for (int i = 0; i < 1000 && !over; ++i) std::this_thread::sleep_for(20ms);
    return false;
  });
  auto options = options_for(server.port());
  options.connections = 1;
  use(options);
  std::stop_source asking;
  std::stop_source waiting;
  auto slow = request("GET", "/slow");
  slow.left = asking.get_token();
  auto behind = request("GET", "/slow");
  behind.left = waiting.get_token();
  const auto first = send(slow);
  ASSERT_TRUE(soon([&] { return asked == 1; }));
  const auto second = send(behind);
  const auto third = get("/quick");
  ASSERT_EQ(counts().waiting, 2U);
  on_io_thread([&] { waiting.request_stop(); });
  ASSERT_TRUE(second->has_ended());
  EXPECT_EQ(second->error()->category, Category::kCancelled);
  EXPECT_EQ(counts().waiting, 1U);
  on_io_thread([&] { asking.request_stop(); });
  ASSERT_TRUE(first->has_ended());
  EXPECT_EQ(first->error()->category, Category::kCancelled);
  ASSERT_TRUE(third->has_ended());
  EXPECT_EQ(third->body(), "{}") << "on a connection of its own";
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(asked, 1) << "a request that has left is not asked again";
  EXPECT_EQ(send(slow)->has_ended(), true);
  EXPECT_EQ(asked, 1);
  // Once it is answered, the connection is kept, whatever becomes of the client.
  std::stop_source answered;
  auto quick = request("GET", "/quick");
  quick.left = answered.get_token();
  const auto fourth = send(quick);
  ASSERT_TRUE(fourth->has_ended());
  on_io_thread([&] { answered.request_stop(); });
  EXPECT_EQ(counts().open, 1U);
  EXPECT_EQ(server.connections(), 2);
  over = true;
}

TEST_F(Http1HopFaults, AStaleConnectionIsReplacedForReadsAlone) {
  std::atomic<int> asked{0};
  std::atomic<bool> cut{false};
  TlsServer server(server_certificate(), [&](const TlsRequest&, const TlsWrite& write) {
    ++asked;
    if (cut.exchange(false)) return false;
    return write(TlsServer::response(200, "{}"));
  });
  use(options_for(server.port()));
  get_and_wait("/");
  cut = true;
  EXPECT_EQ(get_and_wait("/")->body(), "{}");
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(server.connections(), 2);

  cut = true;
  const auto posted = send(request("POST", "/", "x"));
  ASSERT_TRUE(posted->has_ended());
  ASSERT_TRUE(posted->error()) << "it may have been done";
  EXPECT_EQ(posted->error()->code, 502);
  EXPECT_EQ(asked, 4);

  cut = true;
  EXPECT_TRUE(get_and_wait("/")->error()) << "a new connection that is cut tells of more than age";
  EXPECT_EQ(asked, 5);
}

TEST_F(Http1HopFaults, AReadIsRepeatedOnce) {
  std::atomic<int> asked{0};
  TlsServer server(server_certificate(), [&](const TlsRequest& request, const TlsWrite& write) {
    ++asked;
    return request.target == "/good" && write(TlsServer::response(200, "{}"));
  });
  use(options_for(server.port()));
  get_and_wait("/good");
  EXPECT_TRUE(get_and_wait("/bad")->error());
  EXPECT_EQ(asked, 3);
}

TEST_F(Http1HopFaults, HostileAnswersEndTheirExchangeAlone) {
  const std::vector<std::string> hostile = {
      "garbage\r\n\r\n",
      "HTTP/1.1 200 OK\r\nA: b\rC: d\r\nContent-Length: 2\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
      "HTTP/1.1 200 OK\r\nA: " + std::string(70 * 1024, 'x'),
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Le",
  };
  std::atomic<std::size_t> next{0};
  TlsServer server(server_certificate(), [&](const TlsRequest& request, const TlsWrite& write) {
    if (request.target == "/good") return write(TlsServer::response(200, "{}"));
    write(hostile[next++]);
    return false;
  });
  use(options_for(server.port()));
  for (const auto& text : hostile) {
    EXPECT_EQ(get_and_wait("/good")->body(), "{}");
    const auto answer = get_and_wait("/bad");
    ASSERT_TRUE(answer->error()) << text.substr(0, 80);
    EXPECT_EQ(answer->error()->code, 502);
  }
  EXPECT_EQ(get_and_wait("/good")->body(), "{}");
  EXPECT_TRUE(soon([&] { return counts().open == 1; })) << counts().open;
}

TEST_F(Http1HopFaults, InterimAnswersAreSkippedButNotForEver) {
  TlsServer server(server_certificate(), [](const TlsRequest& request, const TlsWrite& write) {
    std::string text;
    for (int i = 0; i < (request.target == "/few" ? 3 : 100); ++i) text += "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
    return write(text + TlsServer::response(200, "{}"));
  });
  use(options_for(server.port()));
  const auto few = get_and_wait("/few");
  EXPECT_EQ(few->status(), 200);
  EXPECT_EQ(few->header("link"), "");
  EXPECT_TRUE(get_and_wait("/many")->error());
}

TEST_F(Http1HopFaults, WhatComesUnaskedClosesTheConnection) {
  TlsServer server(server_certificate(), [](const TlsRequest&, const TlsWrite& write) {
    return write(TlsServer::response(200, "{}") + TlsServer::response(200, "{\"of\": \"another\"}"));
  });
  use(options_for(server.port()));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get_and_wait("/")->body(), "{}");
  EXPECT_EQ(server.connections(), 3);
}

TEST_F(Http1HopFaults, ABodyThatIsCutIsNotTakenForWhole) {
  const std::map<std::string, std::string> heads = {
      {"/length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"},
      {"/chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"},
      {"/until-close", "HTTP/1.1 200 OK\r\n\r\nhello"}};
  const auto handler = [&](const TlsRequest& request, const TlsWrite& write) {
    write(heads.at(request.target));
    return false;  // without a word: TLS can tell
  };
  TlsServer server(server_certificate(), handler);
  use(options_for(server.port()));
  for (const auto& [path, head] : heads) {
    const auto answer = get_and_wait(path);
    ASSERT_FALSE(answer->error());
    EXPECT_EQ(answer->body(), "hello") << path;
    EXPECT_FALSE(answer->whole()) << path;
  }
  on_io_thread([this] { hop_->close(); });
  TlsServer plain(server_certificate(), handler, false);
  auto options = options_for(plain.port());
  options.server = plain.url();
  use(options);
  EXPECT_TRUE(get_and_wait("/until-close")->whole());
  EXPECT_FALSE(get_and_wait("/length")->whole());
}

}  // namespace
}  // namespace fleetadm::proxy
