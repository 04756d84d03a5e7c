// What a client may not do to a sandbox's server: too much, too deep, too slow, too often. After each of it the server answers.
#include <arpa/inet.h>
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "core/sandbox/api/api_server.h"
#include "core/serve/http/server.h"
#include "tests/support/https.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;
using testkit::https;

/// Never ends by itself.
class Silent final : public serve::BodyStream {
 public:
  More read(std::string&, std::size_t) override { return More::kLater; }
  void on_ready(std::function<void()>) override {}
};

/// A TLS connection whose bytes the test sends one by one.
class SlowClient {
 public:
  explicit SlowClient(int port) : handle_(curl_easy_init()) {
    const auto url = "https://127.0.0.1:" + std::to_string(port);
    curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle_, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(handle_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    connected_ = curl_easy_perform(handle_) == CURLE_OK;
  }
  ~SlowClient() { curl_easy_cleanup(handle_); }
  SlowClient(const SlowClient&) = delete;
  SlowClient& operator=(const SlowClient&) = delete;

  bool connected() const { return connected_; }
  bool send(std::string_view text) {
    std::size_t sent = 0;
    return curl_easy_send(handle_, text.data(), text.size(), &sent) == CURLE_OK && sent == text.size();
  }
  bool closed_within(std::chrono::milliseconds patience) { return received_within(patience).has_value(); }
  /// What was received until the server closed; nullopt where it did not.
  std::optional<std::string> received_within(std::chrono::milliseconds patience) {
    const auto until = Steady::now() + patience;
    std::string received;
    char buffer[4096];
    while (Steady::now() < until) {
      std::size_t size = 0;
      const auto code = curl_easy_recv(handle_, buffer, sizeof(buffer), &size);
      if (code == CURLE_OK && size == 0) return received;
      if (code != CURLE_OK && code != CURLE_AGAIN) return received;
      received.append(buffer, size);
      if (code == CURLE_AGAIN) std::this_thread::sleep_for(10ms);
    }
    return std::nullopt;
  }

 private:
  CURL* handle_;
  bool connected_ = false;
};

class HttpLimitsTest : public testing::Test {
 protected:
  void start(serve::HttpLimits limits) {
    ca_ = *pki::make_ca("test", std::chrono::hours(1));
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    serve::ListenOptions options;
    options.certificate = *pki::issue(ca_, leaf);
    options.client_ca = ca_.certificate;
    options.limits = limits;
    api_ = std::move(*ApiServer::open({.ca_pem = ca_.certificate, .token_key = *pki::generate_key()}));
    listener_ = std::move(*serve::HttpListener::start(runtime_, options, [this](const serve::HttpRequest& request) {
      serve::HttpResponse response;
      if (request.path != "/stream") return api_->handle(request);
      response.stream = std::make_shared<Silent>();
      return response;
    }));
    leaf = {};
    leaf.subject = {"admin", {"system:masters"}, {}};
    leaf.client = true;
    admin_ = *pki::issue(ca_, leaf);
  }
  void TearDown() override {
    listener_.reset();
    runtime_.stop();
  }
  int ask(const std::string& path, const std::string& body = {}, const std::string& type = "application/json",
          long seconds = 10) {
    return https({.url = "https://127.0.0.1:" + std::to_string(listener_->port()) + path,
                  .method = body.empty() ? "GET" : "POST",
                  .body = body,
                  .content_type = type,
                  .ca = ca_.certificate,
                  .certificate = admin_.certificate,
                  .key = admin_.key,
                  .timeout_seconds = seconds})
        .status;
  }

  serve::HttpRuntime runtime_{2};
  pki::KeyPair ca_;
  pki::KeyPair admin_;
  std::unique_ptr<ApiServer> api_;
  std::unique_ptr<serve::HttpListener> listener_;
};

constexpr const char* kLimitedMaps = "/api/v1/namespaces/default/configmaps";

TEST_F(HttpLimitsTest, LargeBodiesHeadersAndUrlsAreRefused) {
  start({});
  const auto large = "{\"data\":\"" + std::string(4 * 1024 * 1024, 'x') + "\"}";
  EXPECT_EQ(ask(kLimitedMaps, large), 413);
  const auto long_url = ask(std::string(kLimitedMaps) + "?labelSelector=" + std::string(200'000, 'a'));
  EXPECT_TRUE(long_url == 0 || long_url >= 400) << long_url;
  EXPECT_EQ(ask("/version"), 200);
}

TEST_F(HttpLimitsTest, BodiesTogetherAreLimited) {
  serve::HttpLimits limits;
  limits.bodies = 20'000;
  start(limits);
  SlowClient first(listener_->port());
  const std::string head = "POST " + std::string(kLimitedMaps) + " HTTP/1.1\r\nhost: a\r\ncontent-length: 14000\r\n\r\n";
  ASSERT_TRUE(first.connected() && first.send(head + std::string(12'000, 'x')));
  const auto refused_at_once = [&] { return ask(kLimitedMaps, "{\"data\":\"" + std::string(10'000, 'x') + "\"}") == 429; };
  const auto until = Steady::now() + 5s;
  while (!refused_at_once() && Steady::now() < until) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(refused_at_once());
  EXPECT_EQ(ask("/version"), 200);
  ASSERT_TRUE(first.send(std::string(2'000, 'x')));  // nonsense, but all of it: it is answered, and its memory given back
  while (refused_at_once() && Steady::now() < until + 5s) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(refused_at_once());
}

TEST_F(HttpLimitsTest, ChunkExtensionsAndTrailersAreCounted) {
  start({});
  const std::string head = "POST " + std::string(kLimitedMaps) + " HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
  const std::string piece(8 * 1024, 'a');
  const std::string small_chunk = "1;" + piece + "\r\nx\r\n";
  for (const auto& [begin, more] : {std::pair("5;", piece), std::pair("0\r\nx: ", piece),
                                    std::pair("0\r\n", "x: " + piece + "\r\n"), std::pair("", small_chunk)}) {
    SlowClient client(listener_->port());
    ASSERT_TRUE(client.connected() && client.send(head + begin));
    for (int i = 0; i < 64 && client.send(more); ++i) {
    }
    EXPECT_TRUE(client.closed_within(3s)) << begin << more.substr(0, 10);
  }
  SlowClient bytewise(listener_->port());  // which is legal, and stays so
  ASSERT_TRUE(bytewise.connected() && bytewise.send("POST /api HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
                                                    "transfer-encoding: chunked\r\n\r\n"));
  std::string chunks;
  for (int i = 0; i < 1'000; ++i) chunks += "1\r\nx\r\n";
  ASSERT_TRUE(bytewise.send(chunks) && bytewise.send("0\r\nx-checksum: 1\r\n\r\n"));
  const auto answer = bytewise.received_within(5s);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->starts_with("HTTP/1.1 400")) << *answer;
  EXPECT_EQ(ask("/version"), 200);
}

TEST_F(HttpLimitsTest, RequestsThatCanBeReadInTwoWaysAreRefused) {
  start({});
  const std::string hidden = "GET /version HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
  for (const auto& [headers, status] : {std::pair("host: a\r\nhost: b\r\n", "400"), std::pair("", "400"),
                                        std::pair("host: a\r\ntransfer-encoding: gzip\r\n", "501"),
                                        std::pair("host: a\r\ntransfer-encoding: gzip, chunked\r\n", "501"),
                                        std::pair("host: a\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n", "400")}) {
    SlowClient client(listener_->port());
    ASSERT_TRUE(client.connected() && client.send("GET /version HTTP/1.1\r\n" + std::string(headers) + "\r\n" + hidden));
    const auto answer = client.received_within(3s);
    ASSERT_TRUE(answer) << headers;
    EXPECT_TRUE(answer->starts_with("HTTP/1.1 " + std::string(status))) << headers << *answer;
    EXPECT_EQ(answer->find("HTTP/1.1", 8), std::string::npos) << "one answer: " << headers << *answer;
  }
}

TEST_F(HttpLimitsTest, RevisionsToComeHoldNoWorker) {
  start({});
  const auto begun = Steady::now();
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this] {
      EXPECT_EQ(ask(std::string(kLimitedMaps) + "?resourceVersion=99999999"), 504);
      EXPECT_EQ(ask(std::string(kLimitedMaps) +
                    "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999"),
                504);
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(ask("/version"), 200);
  EXPECT_LT(Steady::now() - begun, 6s);  // two workers that wait three seconds for each would take 24
}

TEST_F(HttpLimitsTest, DeepBodiesAreRefused) {
  start({});
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += open;
    deep += "1";
    for (int i = 0; i < 100'000; ++i) deep += close;
    EXPECT_EQ(ask(kLimitedMaps, deep), 400);
    EXPECT_EQ(ask(kLimitedMaps, deep, "application/yaml"), 400);
  }
  const auto nested_maps = [](int levels) {
    std::string out;
    for (int i = 0; i < levels; ++i) out += "{\"a\":";
    return out + "1" + std::string(static_cast<std::size_t>(levels), '}');
  };
  EXPECT_EQ(ask(kLimitedMaps, nested_maps(800), "application/yaml"), 400) << "YAML may be deeper than what is stored";
  EXPECT_EQ(ask(kLimitedMaps, nested_maps(505)), 400);
  std::string groups;  // of protobuf: nested messages, each the only field of the one around it
  for (int i = 0; i < 2'000; ++i)
    groups = std::string("\x0a") + static_cast<char>(0x80 | (groups.size() & 0x7f)) +
             static_cast<char>((groups.size() >> 7) & 0x7f) + groups;
  const auto nested = ask(kLimitedMaps, std::string("k8s\0", 4) + groups, "application/vnd.kubernetes.protobuf");
  EXPECT_TRUE(nested == 400 || nested == 415) << nested;
  EXPECT_EQ(ask("/version"), 200);
}

TEST_F(HttpLimitsTest, SlowClientsAreCutOff) {
  serve::HttpLimits limits;
  limits.handshake = 1s;
  limits.request = 1s;
  limits.idle = 1s;
  start(limits);
  const int raw = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(listener_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(raw, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const timeval patience{5, 0};
  ::setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  SlowClient idle(listener_->port());
  SlowClient slow(listener_->port());
  ASSERT_TRUE(idle.connected() && slow.connected());
  ASSERT_TRUE(slow.send("POST /api HTTP/1.1\r\nhost: a\r\n"));
  for (int i = 0; i < 12; ++i) {  // a byte now and then does not keep it alive
    std::this_thread::sleep_for(100ms);
    static_cast<void>(slow.send("x"));
  }
  EXPECT_TRUE(slow.closed_within(3s));
  EXPECT_TRUE(idle.closed_within(3s));
  char byte = 0;
  EXPECT_LE(::recv(raw, &byte, 1, 0), 0);  // it never began its handshake
  EXPECT_NE(errno, EAGAIN);
  ::close(raw);
  EXPECT_EQ(ask("/version"), 200);
}

TEST_F(HttpLimitsTest, ConnectionsAndStreamsAreCounted) {
  serve::HttpLimits limits;
  limits.connections = 3;
  limits.answers = 1;
  start(limits);
  SlowClient first(listener_->port());
  ASSERT_TRUE(first.connected());
  ASSERT_TRUE(first.send("GET /stream HTTP/1.1\r\nhost: a\r\n\r\n"));
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(ask("/stream"), 429);
  {
    SlowClient second(listener_->port());
    SlowClient third(listener_->port());
    ASSERT_TRUE(second.connected() && third.connected());
    EXPECT_EQ(ask("/version", {}, "application/json", 3), 0);
  }
  const auto until = Steady::now() + 5s;
  int status = 0;
  while (status != 200 && Steady::now() < until) status = ask("/version", {}, "application/json", 3);
  EXPECT_EQ(status, 200);
}

}  // namespace
}  // namespace fleetadm::sandbox
