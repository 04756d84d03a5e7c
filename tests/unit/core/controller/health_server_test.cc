#include "core/controller/health_server.h"

#include <arpa/inet.h>
#include <cstring>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/controller/metrics.h"

namespace fleetadm::controller {
namespace {

/// From the address `from` where that is given. -1: no connection.
int connect_to(const std::string& endpoint, in_addr_t from = 0) {
  const auto port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = from;
  if (from != 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    ::close(fd);
    return -1;
  }
  const timeval limit{5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

/// Sends raw bytes and reads until the server closes.
std::string talk(const std::string& endpoint, const std::string& request, in_addr_t from = 0) {
  const int fd = connect_to(endpoint, from);
  if (fd < 0) return "no connection";
  ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, static_cast<std::size_t>(n));
  ::close(fd);
  return answer;
}

std::string get(const std::string& endpoint, const std::string& target, const std::string& method = "GET", in_addr_t from = 0) {
  return talk(endpoint, method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", from);
}

class HealthServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = HealthServer::start("127.0.0.1:0", [](const HealthServer::Request& request) -> Manager::Page {
      if (request.path == "/throws") throw std::runtime_error("inside");
      return {200, "text/plain", "path " + std::string(request.path)};
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

TEST_F(HealthServerTest, ConnectionsThatSendNothingMakeRoomForOthers) {
  const std::string half = "GET /livez HTTP/1.1\r\n";
  std::vector<int> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(connect_to(server->endpoint()));
    ASSERT_GE(idle.back(), 0);
    ::send(idle.back(), half.data(), half.size(), MSG_NOSIGNAL);
  }
  for (int i = 0; i < 10; ++i) EXPECT_NE(get(server->endpoint(), "/livez").find("path /livez"), std::string::npos);
  char byte = 0;
  EXPECT_LE(::recv(idle.front(), &byte, 1, 0), 0) << "the oldest was closed";
  for (const int fd : idle) ::close(fd);
}

TEST_F(HealthServerTest, HalfARequestIsNotWaitedForLong) {
  const int fd = connect_to(server->endpoint());
  ASSERT_GE(fd, 0);
  const std::string half = "GET /livez HTTP/1.1\r\n";
  ::send(fd, half.data(), half.size(), MSG_NOSIGNAL);
  char byte = 0;
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 0) << "closed by the server, before this end's five seconds are over";
  ::close(fd);
}

/// An address of this host that is not a loopback one; 0 where there is none.
in_addr_t outer_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return 0;
  in_addr_t found = 0;
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in address{};
    std::memcpy(&address, at->ifa_addr, sizeof address);
    if ((ntohl(address.sin_addr.s_addr) >> 24) != 127) found = address.sin_addr.s_addr;
  }
  ::freeifaddrs(all);
  return found;
}

TEST(HealthServer, ShowsPagesToLoopbackOnly) {
  Manager manager({.threads = 1, .health_address = "127.0.0.1:0"});
  manager.add_page("/debug/", [](std::string_view) { return Manager::Page{200, "text/plain", "inside"}; });
  ASSERT_TRUE(manager.serve_health());
  EXPECT_NE(get(manager.health_endpoint(), "/debug/x").find("inside"), std::string::npos);
  const in_addr_t outer = outer_address();
  if (outer == 0) return;  // a host without a network
  EXPECT_NE(get(manager.health_endpoint(), "/debug/x", "GET", outer).find("HTTP/1.1 403"), std::string::npos);
  EXPECT_NE(get(manager.health_endpoint(), "/livez", "GET", outer).find("HTTP/1.1 200"), std::string::npos);
}

TEST(HealthServer, SaysWhatIsWrongWithAnAddress) {
  const auto handler = [](const HealthServer::Request&) { return Manager::Page{}; };
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

TEST(Metrics, CarryWhatAProgramAdds) {
  Manager manager({.threads = 1, .health_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.serve_health());
  manager.add_metrics([] { return std::string("# TYPE mine gauge\nmine 1\n"); });
  const std::string text = get(manager.health_endpoint(), "/metrics");
  EXPECT_NE(text.find("workqueue_depth"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("# TYPE mine gauge\nmine 1\n")) << text;
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
