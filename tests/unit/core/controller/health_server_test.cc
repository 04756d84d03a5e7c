#include "core/controller/health_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/controller/metrics.h"

namespace fleetadm::controller {
namespace {

/// Sends raw bytes and reads until the server closes.
std::string talk(const std::string& endpoint, const std::string& request) {
  const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return "no connection";
  }
  ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, static_cast<std::size_t>(n));
  ::close(fd);
  return answer;
}

std::string get(const std::string& endpoint, const std::string& target, const std::string& method = "GET") {
  return talk(endpoint, method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

class HealthServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = HealthServer::start("127.0.0.1:0", [](std::string_view path) -> Manager::Page {
      if (path == "/throws") throw std::runtime_error("inside");
      return {200, "text/plain", "path " + std::string(path)};
    });
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  std::unique_ptr<HealthServer> server;
};

TEST_F(HealthServerTest, AnswersGetWithoutTheQuery) {
  const std::string answer = get(server->endpoint(), "/healthz?verbose");
  EXPECT_NE(answer.find("HTTP/1.1 200"), std::string::npos) << answer;
  EXPECT_NE(answer.find("path /healthz"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("verbose"), std::string::npos) << answer;
}

TEST_F(HealthServerTest, HeadHasNoBody) {
  const std::string answer = get(server->endpoint(), "/healthz", "HEAD");
  EXPECT_NE(answer.find("HTTP/1.1 200"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("path /healthz"), std::string::npos) << answer;
}

TEST_F(HealthServerTest, RefusesEverythingElse) {
  EXPECT_NE(get(server->endpoint(), "/healthz", "POST").find("HTTP/1.1 405"), std::string::npos);
  EXPECT_NE(get(server->endpoint(), "/throws").find("HTTP/1.1 500"), std::string::npos);
  EXPECT_EQ(talk(server->endpoint(), "GET / HTTP/1.1\r\nX: " + std::string(20000, 'a') + "\r\n\r\n").find("200"),
            std::string::npos);
  EXPECT_EQ(talk(server->endpoint(), "nonsense\r\n\r\n").find("200"), std::string::npos);
  EXPECT_NE(get(server->endpoint(), "/still").find("path /still"), std::string::npos) << "it lives on";
}

TEST(HealthServer, SaysWhatIsWrongWithAnAddress) {
  const auto handler = [](std::string_view) { return Manager::Page{}; };
  for (const char* address : {"", "8080", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x", "example.org:80", "127.0.0.1:-1"}) {
    const auto server = HealthServer::start(address, handler);
    ASSERT_FALSE(server) << address;
    EXPECT_EQ(server.error().category, Category::kUsage) << address;
  }
  const auto first = HealthServer::start("127.0.0.1:0", handler);
  ASSERT_TRUE(first);
  const auto second = HealthServer::start((*first)->endpoint(), handler);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().category, Category::kUnavailable);
}

TEST(Metrics, IsPrometheusText) {
  LaneStats lane;
  lane.name = "a\"b";
  lane.depth = 2;
  lane.succeeded = 5;
  lane.failed = 1;
  const std::string text = render_metrics({lane}, {{"things.example.org", 7, true}}, 4096);
  EXPECT_NE(text.find("# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"a\\\"b\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("reconcile_total{name=\"a\\\"b\",result=\"success\"} 5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("reconcile_total{name=\"a\\\"b\",result=\"error\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("informer_objects{resource=\"things.example.org\"} 7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("process_resident_memory_bytes 4096\n"), std::string::npos) << text;
  EXPECT_GT(resident_bytes(), 1000000u);
}

TEST(Metrics, OfAnotherManagerAsLongAsItLives) {
  Manager outer({.threads = 1, .health_address = "127.0.0.1:0"});
  ASSERT_TRUE(outer.serve_health());
  const auto series = [&outer](const std::string& name) {
    return get(outer.health_endpoint(), "/metrics").find("workqueue_adds_total{name=\"" + name + "\"} 1\n") != std::string::npos;
  };
  auto inner = std::make_unique<Manager>(Manager::Options{});
  inner->add({.name = "inside"}, [](const std::string&, std::stop_token) -> Result<Outcome> { return Outcome{}; })->add("key");
  outer.add({.name = "outside"}, [](const std::string&, std::stop_token) -> Result<Outcome> { return Outcome{}; })->add("key");
  EXPECT_TRUE(series("outside"));
  EXPECT_FALSE(series("inside"));
  outer.count_too(*inner);
  EXPECT_TRUE(series("outside"));
  EXPECT_TRUE(series("inside"));
  inner.reset();
  EXPECT_TRUE(series("outside"));
  EXPECT_FALSE(series("inside"));
}

}  // namespace
}  // namespace fleetadm::controller
