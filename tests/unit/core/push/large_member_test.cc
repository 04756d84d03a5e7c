// What a member of the largest supported size takes of the hub's memory: 5,000 nodes and 100,000 pods
// (docs/reference/registration.md#push-members).
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>

#include "core/controller/memory.h"
#include "core/controller/metrics.h"
#include "core/push/line.h"
#include "kubeclient/base/quantity.h"
#include "kubeclient/rest/client.h"
#include "tests/support/sanitizers.h"
#include "tests/support/tls_server.h"

namespace fleetadm::push {
namespace {

using testkit::TlsRequest;
using testkit::TlsServer;
using testkit::TlsWrite;

/// A sanitizer has a heap of its own, and is slow.
bool measures() { return !testkit::sanitized(); }
int node_count() { return measures() ? 5'000 : 50; }
int pod_count() { return measures() ? 100'000 : 1'000; }
constexpr std::uint64_t kBound = 64U * 1024U * 1024U;  // bytes

std::string uid_for(int i) {
  std::string digits = std::to_string(100'000'000'000 + i);
  return "3f0a4a55-4f0c-4a43-9b4e-" + digits;
}

std::string meta(const std::string& name, const std::string& ns, int i) {
  return R"("metadata":{"name":")" + name + (ns.empty() ? "" : R"(","namespace":")" + ns) + R"(","uid":")" + uid_for(i) +
         R"(","resourceVersion":")" + std::to_string(100'000 + i) +
         R"(","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"kubelet","operation":"Update"}],)" +
         R"("labels":{"app.kubernetes.io/name":"web","pod-template-hash":"7d9f8b6c5d"}})";
}

std::string pod(int i) {
  return R"({"apiVersion":"v1","kind":"Pod",)" +
         meta("web-7d9f8b6c5d-" + std::to_string(i), "team-" + std::to_string(i % 200), i) + R"(,"spec":{"nodeName":"node-)" +
         std::to_string(i % node_count()) +
         R"(","containers":[{"name":"main","image":"registry.example.com/team/web:1","env":[{"name":"NOTE","value":")" +
         std::string(i % 1'000 == 0 ? 100'000 : 100, 'x') +
         R"("}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]},"status":{"phase":"Running"}})";
}

std::string node(int i) {
  const std::string amounts = R"({"cpu":"4","ephemeral-storage":"100Gi","hugepages-2Mi":"0","memory":"16Gi","pods":"110"})";
  return R"({"apiVersion":"v1","kind":"Node",)" + meta("node-" + std::to_string(i), "", i) +
         R"(,"spec":{"providerID":"aws:///eu-west-1a/i-)" + std::to_string(i) + R"("},"status":{"capacity":)" + amounts +
         R"(,"allocatable":)" + amounts + R"(,"conditions":[{"type":"Ready","status":"True"}]}})";
}

/// A member that lists in pages, as many objects as it is told; its watches bring nothing.
class LargeMember {
 public:
  ~LargeMember() { over_.set_value(); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  int pages() const { return pages_; }

 private:
  static std::string parameter(const std::string& target, const std::string& name) {
    const std::size_t at = target.find(name + "=");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 1;
    return target.substr(begin, target.find('&', begin) - begin);
  }
  static bool chunk(const TlsWrite& write, const std::string& text) {
    std::array<char, 20> size{};
    const auto end = std::to_chars(size.begin(), size.end(), text.size(), 16).ptr;
    return write(std::string(size.begin(), end) + "\r\n" + text + "\r\n");
  }

  bool answer(const TlsRequest& request, const TlsWrite& write) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path == "/version") return write(TlsServer::response(200, R"({"gitVersion":"v1.35.4"})"));
    const bool nodes = path == "/api/v1/nodes";
    if (!nodes && path != "/api/v1/pods") return write(TlsServer::response(404, "{}"));
    if (request.target.find("sendInitialEvents") != std::string::npos) return write(TlsServer::response(422, "{}"));
    if (!write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")) return false;
    if (request.target.find("watch=true") != std::string::npos) {
      over_seen_.wait();
      return false;
    }
    return list(request.target, nodes, write) && write("0\r\n\r\n");
  }
  bool list(const std::string& target, bool nodes, const TlsWrite& write) {
    ++pages_;
    const std::string from = parameter(target, "continue");
    const int begin = from.empty() ? 0 : std::stoi(from);
    const int all = nodes ? node_count() : pod_count();
    const std::string limit = parameter(target, "limit");
    const int end = std::min(all, limit.empty() ? all : begin + std::stoi(limit));
    if (!chunk(write, R"({"metadata":{"resourceVersion":"500000","continue":")" + (end < all ? std::to_string(end) : "") +
                          R"("},"items":[)"))
      return false;
    for (int i = begin; i < end; ++i) {
      if (!chunk(write, (i > begin ? "," : "") + (nodes ? node(i) : pod(i)))) return false;
    }
    return chunk(write, "]}");
  }

  std::promise<void> over_;
  const std::shared_future<void> over_seen_ = over_.get_future().share();
  std::atomic<int> pages_{0};
  TlsServer server_{{}, [this](const auto& request, const auto& write) { return answer(request, write); }, false};
};

/// The most that the process has resident beyond what it had at the beginning.
class Highest {
 public:
  std::uint64_t bytes() const { return highest_ - std::min(before_, highest_.load()); }

 private:
  const std::uint64_t before_ = controller::resident_bytes();
  std::atomic<std::uint64_t> highest_{before_};
  std::jthread looks_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      highest_ = std::max(highest_.load(), controller::resident_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }};
};

bool is_ready(Line& line, const Clock& clock) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (line.get_ready(clock.now())) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST(LargeMember, TakesNoMoreThanItsBound) {
  const LargeMember member;
  const auto connect = [&](const kube::RestConfig&) {
    kube::RestConfig config;
    config.server = member.url();
    return kube::Client::connect(config);
  };
  const auto clock = Clock::system();
  const Shared shared{connect({}),           "hub", "ns", "hub-ns", connect, clock, std::make_shared<controller::WorkerPool>(1),
                      std::chrono::hours(1), {},    {}};
  controller::give_memory_back();
  const Highest highest;
  Line line(
      shared, {}, [] {}, [] {});
  ASSERT_TRUE(is_ready(line, *clock));
  const auto seen = line.observe(clock->now());
  Json status = Json::object();
  line.write_figures(status);
  const std::uint64_t most = highest.bytes();
  EXPECT_EQ(str(status, {"capacity", "nodes.fleetadm.io/total"}), std::to_string(node_count()));
  EXPECT_EQ(str(status, {"capacity", "nodes.fleetadm.io/ready"}), std::to_string(node_count()));
  EXPECT_EQ(str(status, {"capacity", "allocated.fleetadm.io/pods"}), Quantity::from_int(pod_count()).to_string());
  EXPECT_EQ(str(status, {"capacity", "allocated.fleetadm.io/cpu"}), Quantity::from_int(pod_count() / 10).to_string());
  ASSERT_TRUE(seen.totals);
  EXPECT_EQ(seen.totals->allocatable.at("cpu").compare(Quantity::from_int(4 * node_count())), 0);
  EXPECT_GE(member.pages(), pod_count() / 500);
  if (measures()) {
    EXPECT_LE(most, kBound);
  }
}

}  // namespace
}  // namespace fleetadm::push
