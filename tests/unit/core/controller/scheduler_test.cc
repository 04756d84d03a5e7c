#include "core/controller/scheduler.h"

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace fleetadm::controller {
namespace {

using namespace std::chrono_literals;

/// Runs a scheduler in the background until it goes out of scope.
class Running {
 public:
  explicit Running(std::shared_ptr<Scheduler> scheduler, int threads = 4)
      : thread_([scheduler = std::move(scheduler), threads](std::stop_token stop) { scheduler->run(threads, stop); }) {}

 private:
  std::jthread thread_;
};

bool soon(const std::function<bool()>& done, Duration most = 5s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (std::chrono::steady_clock::now() < end) {
    if (done()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return done();
}

ControllerOptions named(int workers = 1) {
  ControllerOptions options;
  options.name = "test";
  options.workers = workers;
  return options;
}

TEST(FailureBackoff, DoublesFromFiveMillisecondsToAThousandSeconds) {
  EXPECT_EQ(failure_backoff(1), 5ms);
  EXPECT_EQ(failure_backoff(2), 10ms);
  EXPECT_EQ(failure_backoff(11), 5120ms);
  EXPECT_EQ(failure_backoff(18), 655360ms);
  EXPECT_EQ(failure_backoff(19), 1000s);
  EXPECT_EQ(failure_backoff(1000), 1000s);
}

TEST(Scheduler, AKeyWaitsOnceHoweverOftenItIsAdded) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> runs{0};
  auto queue = scheduler->add_lane(named(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    ++runs;
    return Outcome{};
  });
  for (int i = 0; i < 50; ++i) queue->add("a");
  EXPECT_EQ(scheduler->stats().at(0).depth, 1u);
  const Running running(scheduler);
  EXPECT_TRUE(soon([&] { return scheduler->stats().at(0).succeeded == 1; }));
  EXPECT_EQ(runs, 1);
}

TEST(Scheduler, AKeyIsNeverWorkedOnTwiceAtATimeAndComesAgainWhenAddedMeanwhile) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> inside{0}, runs{0}, overlaps{0};
  std::shared_ptr<Queue> queue = scheduler->add_lane(named(4), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    if (++inside > 1) ++overlaps;
    std::this_thread::sleep_for(5ms);
    --inside;
    ++runs;
    return Outcome{};
  });
  const Running running(scheduler);
  for (int i = 0; i < 20; ++i) {
    queue->add("a");
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(soon([&] {
    const auto stats = scheduler->stats().at(0);
    return stats.depth == 0 && stats.active == 0;
  }));
  EXPECT_EQ(overlaps, 0);
  EXPECT_GE(runs, 2);
  EXPECT_LE(runs, 20);
}

TEST(Scheduler, DifferentKeysRunAtTheSameTimeUpToTheControllersWorkers) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> inside{0}, most{0}, runs{0};
  auto queue = scheduler->add_lane(named(2), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(10ms);
    --inside;
    ++runs;
    return Outcome{};
  });
  const Running running(scheduler, 8);
  for (int i = 0; i < 12; ++i) queue->add(std::to_string(i));
  EXPECT_TRUE(soon([&] { return runs == 12; }));
  EXPECT_EQ(most, 2);
}

TEST(Scheduler, AFailedKeyComesBackUntilItSucceeds) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> runs{0};
  auto queue = scheduler->add_lane(named(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    if (++runs < 4) return fail(Category::kConflict, "not yet");
    return Outcome{};
  });
  const Running running(scheduler);
  queue->add("a");
  EXPECT_TRUE(soon([&] { return scheduler->stats().at(0).succeeded == 1; }));
  EXPECT_EQ(scheduler->stats().at(0).failed, 3u);
  EXPECT_EQ(scheduler->stats().at(0).retries, 3u);
}

TEST(Scheduler, AnExceptionCountsAsAFailure) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> runs{0};
  auto queue = scheduler->add_lane(named(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    if (++runs == 1) throw std::runtime_error("boom");
    return Outcome{};
  });
  const Running running(scheduler);
  queue->add("a");
  EXPECT_TRUE(soon([&] { return scheduler->stats().at(0).succeeded == 1; }));
  EXPECT_EQ(scheduler->stats().at(0).failed, 1u);
}

TEST(Scheduler, RequeueAfterWaitsAndIsReplacedByTheNextOutcome) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> runs{0};
  auto queue = scheduler->add_lane(named(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    ++runs;
    return runs == 1 ? Outcome{30ms} : Outcome{1h};
  });
  const Running running(scheduler);
  const auto began = std::chrono::steady_clock::now();
  queue->add("a");
  EXPECT_TRUE(soon([&] { return runs == 2; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 30ms);
  // Each look plans the next one anew: however often it is woken, one moment is waited for.
  for (int i = 3; i < 6; ++i) {
    queue->add("a");
    EXPECT_TRUE(soon([&] { return runs == i; }));
  }
  EXPECT_TRUE(soon([&] { return scheduler->stats().at(0).active == 0; }));
  EXPECT_EQ(scheduler->stats().at(0).delayed, 1u);
}

TEST(Scheduler, AddAfterKeepsTheEarliestMoment) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> runs{0};
  auto queue = scheduler->add_lane(named(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    ++runs;
    return Outcome{};
  });
  queue->add_after("a", 1h);
  queue->add_after("a", 20ms);
  queue->add_after("a", 2h);
  EXPECT_EQ(scheduler->stats().at(0).delayed, 1u);
  const Running running(scheduler);
  EXPECT_TRUE(soon([&] { return runs == 1; }));
  EXPECT_EQ(scheduler->stats().at(0).delayed, 0u);
}

TEST(Scheduler, ResyncAddsItsKeysAtStartAndAgain) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<int> runs{0};
  ControllerOptions options = named();
  options.resync = 10ms;
  options.resync_keys = {"all"};
  auto queue = scheduler->add_lane(options, [&](const std::string& key, std::stop_token) -> Result<Outcome> {
    EXPECT_EQ(key, "all");
    ++runs;
    return Outcome{};
  });
  const Running running(scheduler);
  EXPECT_TRUE(soon([&] { return runs >= 4; }));
}

TEST(Scheduler, AReconcileThatTakesTooLongIsCancelled) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<bool> cancelled{false};
  ControllerOptions options = named();
  options.reconcile_timeout = 30ms;
  auto queue = scheduler->add_lane(options, [&](const std::string&, std::stop_token stop) -> Result<Outcome> {
    const bool ended = soon([&] { return stop.stop_requested(); });
    cancelled = cancelled || ended;
    return Outcome{};
  });
  const Running running(scheduler);
  queue->add("a");
  EXPECT_TRUE(soon([&] { return cancelled.load(); }));
}

TEST(Scheduler, StopEndsRunningReconcilesAndWaitsForThem) {
  auto scheduler = std::make_shared<Scheduler>();
  std::atomic<bool> began{false}, ended{false};
  auto queue = scheduler->add_lane(named(), [&](const std::string&, std::stop_token stop) -> Result<Outcome> {
    began = true;
    soon([&] { return stop.stop_requested(); }, 60s);
    ended = true;
    return Outcome{};
  });
  queue->add("a");
  queue->add_after("b", 1h);
  {
    const Running running(scheduler);
    EXPECT_TRUE(soon([&] { return began.load(); }));
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace fleetadm::controller
