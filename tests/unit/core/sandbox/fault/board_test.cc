#include "core/sandbox/fault/board.h"

#include <gtest/gtest.h>
#include <thread>

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;

Fault fault_of(FaultKind kind) {
  Fault out;
  out.kind = kind;
  if (kind == FaultKind::kLatency) out.amount = 50ms;
  if (kind == FaultKind::kTooManyRequests) out.amount = 1500ms;
  if (kind == FaultKind::kClock) out.amount = -1h;
  return out;
}

const RequestFacts kListPods = {"c1", "list", "", "pods", "", "alice"};
const RequestFacts kUpdateDeployment = {"hub", "update", "apps", "deployments", "status", "bob"};

/// Gives "x" for ever.
class Endless final : public serve::BodyStream {
 public:
  More read(std::string& into, std::size_t most) override {
    into.append(std::min<std::size_t>(most, 10), 'x');
    return More::kLater;
  }
  void on_ready(std::function<void()>) override {}
};

TEST(Fault, IsTheSameAfterItWasWrittenDown) {
  Fault fault = fault_of(FaultKind::kTooManyRequests);
  fault.clusters = {"c1", "c2"};
  fault.verbs = {"update"};
  fault.resources = {"leases.coordination.k8s.io"};
  fault.users = {"system:serviceaccount:a:b"};
  fault.probability = 0.25;
  fault.count = 7;
  fault.lasts = 90s;
  const auto again = parse_fault(fault_json(fault));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(fault_json(*again), fault_json(fault));
  EXPECT_EQ(again->amount, fault.amount);
  EXPECT_EQ(again->kind, FaultKind::kTooManyRequests);
}

TEST(Fault, RefusesWhatMakesNoSense) {
  for (const Json& bad : {Json{{"kind", "earthquake"}}, Json{{"kind", "latency"}}, Json{{"kind", "clock"}},
                          Json{{"kind", "500"}, {"probability", 0}}, Json{{"kind", "500"}, {"probability", 1.5}},
                          Json{{"kind", "500"}, {"count", -1}}, Json{{"kind", "partition"}, {"verbs", {"get"}}},
                          Json{{"kind", "partition"}, {"count", 3}}, Json{{"kind", "500"}, {"silent", true}},
                          Json{{"kind", "latency"}, {"amount", "20m"}}, Json{{"kind", "500"}, {"bytes", 5}}}) {
    EXPECT_FALSE(parse_fault(bad)) << dump_json(bad);
  }
}

TEST(FaultBoard, StrikesOnlyWhatItsFiltersName) {
  FaultBoard board;
  EXPECT_EQ(board.strike(kListPods).code, 0);
  Fault fault = fault_of(FaultKind::kTooManyRequests);
  fault.clusters = {"c1"};
  fault.verbs = {"list", "watch"};
  fault.resources = {"pods"};
  fault.users = {"alice"};
  ASSERT_TRUE(board.add(fault));
  const auto struck = board.strike(kListPods);
  EXPECT_EQ(struck.code, 429);
  EXPECT_EQ(struck.retry_after, 2);  // whole seconds, never too few
  for (auto other : {RequestFacts{"c2", "list", "", "pods", "", "alice"}, RequestFacts{"c1", "get", "", "pods", "", "alice"},
                     RequestFacts{"c1", "list", "", "secrets", "", "alice"}, RequestFacts{"c1", "list", "", "pods", "", "bob"}}) {
    EXPECT_EQ(board.strike(other).code, 0);
  }
}

TEST(FaultBoard, ReadsResourcesWithGroupAndSubresource) {
  for (const char* name : {"deployments", "deployments.apps", "deployments/status", "deployments.apps/status"}) {
    FaultBoard board;
    Fault fault = fault_of(FaultKind::kServerError);
    fault.resources = {name};
    ASSERT_TRUE(board.add(fault));
    EXPECT_EQ(board.strike(kUpdateDeployment).code, 500) << name;
  }
  for (const char* name : {"deployments.extensions", "deployments/scale", "status"}) {
    FaultBoard board;
    Fault fault = fault_of(FaultKind::kServerError);
    fault.resources = {name};
    ASSERT_TRUE(board.add(fault));
    EXPECT_EQ(board.strike(kUpdateDeployment).code, 0) << name;
  }
}

TEST(FaultBoard, EndsAfterItsNumberOrTime) {
  FaultBoard board;
  Fault counted = fault_of(FaultKind::kServerError);
  counted.count = 2;
  ASSERT_TRUE(board.add(counted));
  EXPECT_EQ(board.strike(kListPods).code, 500);
  EXPECT_EQ(board.strike(kListPods).code, 500);
  EXPECT_EQ(board.strike(kListPods).code, 0);
  EXPECT_TRUE(board.list().empty());
  Fault timed = fault_of(FaultKind::kPartition);
  timed.lasts = 30ms;
  ASSERT_TRUE(board.add(timed));
  EXPECT_TRUE(board.trouble("c1").partition);
  ASSERT_TRUE(board.next_end());
  std::this_thread::sleep_until(*board.next_end());
  EXPECT_FALSE(board.trouble("c1").partition);
}

TEST(FaultBoard, StrikesItsShare) {
  FaultBoard board;
  Fault fault = fault_of(FaultKind::kServerError);
  fault.probability = 0.5;
  ASSERT_TRUE(board.add(fault));
  int struck = 0;
  for (int i = 0; i < 1000; ++i) struck += board.strike(kListPods).code == 500 ? 1 : 0;
  EXPECT_GT(struck, 350);
  EXPECT_LT(struck, 650);
  EXPECT_EQ(board.list().front().strikes, struck);
}

TEST(FaultBoard, AddsDelaysAndOffsets) {
  FaultBoard board;
  ASSERT_TRUE(board.add(fault_of(FaultKind::kLatency)));
  ASSERT_TRUE(board.add(fault_of(FaultKind::kLatency)));
  EXPECT_EQ(board.strike(kListPods).delay, 100ms);
  Fault clock = fault_of(FaultKind::kClock);
  clock.clusters = {"c1"};
  ASSERT_TRUE(board.add(clock));
  EXPECT_EQ(board.trouble("c1").clock_offset, -1h);
  EXPECT_EQ(board.trouble("c2").clock_offset, 0s);
}

TEST(FaultBoard, ClearsByIdAndByCluster) {
  FaultBoard board;
  Fault both = fault_of(FaultKind::kPartition);
  both.clusters = {"c1", "c2"};
  const auto shared = board.add(both);
  const auto everywhere = board.add(fault_of(FaultKind::kServerError));
  ASSERT_TRUE(shared && everywhere);
  EXPECT_TRUE(board.clear({}, {"c1"}).empty());  // it stays for c2
  EXPECT_FALSE(board.trouble("c1").partition);
  EXPECT_TRUE(board.trouble("c2").partition);
  EXPECT_EQ(board.clear({}, {"c2"}), std::vector{*shared});
  EXPECT_EQ(board.clear({*everywhere}, {}), std::vector{*everywhere});
  EXPECT_TRUE(board.clear({*everywhere}, {}).empty());
  EXPECT_TRUE(board.list().empty());
}

TEST(FaultBoard, CutsStreamsByAgeThatAreOpenAlready) {
  const auto board = std::make_shared<FaultBoard>();
  const auto body = breakable(std::make_shared<Endless>(), board, kListPods);
  std::string text;
  EXPECT_EQ(body->read(text, 100), serve::BodyStream::More::kLater);
  Fault fault = fault_of(FaultKind::kCut);
  fault.amount = 20ms;
  ASSERT_TRUE(board->add(fault));
  EXPECT_EQ(body->read(text, 100), serve::BodyStream::More::kLater);
  std::this_thread::sleep_for(25ms);
  EXPECT_EQ(body->read(text, 100), serve::BodyStream::More::kCut);
}

TEST(FaultBoard, CutsStreamsAfterExactlySoManyBytes) {
  const auto board = std::make_shared<FaultBoard>();
  Fault fault = fault_of(FaultKind::kCut);
  fault.bytes = 25;
  fault.count = 1;
  ASSERT_TRUE(board->add(fault));
  const auto body = breakable(std::make_shared<Endless>(), board, kListPods);
  std::string text;
  EXPECT_EQ(body->read(text, 100), serve::BodyStream::More::kLater);
  EXPECT_EQ(body->read(text, 100), serve::BodyStream::More::kLater);
  EXPECT_EQ(body->read(text, 100), serve::BodyStream::More::kCut);
  EXPECT_EQ(text.size(), 25U);
  const auto next = breakable(std::make_shared<Endless>(), board, kListPods);  // the fault had its one strike
  for (int i = 0; i < 10; ++i) EXPECT_EQ(next->read(text, 100), serve::BodyStream::More::kLater);
}

}  // namespace
}  // namespace fleetadm::sandbox
