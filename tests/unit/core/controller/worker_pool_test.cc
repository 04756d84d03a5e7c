#include "core/controller/worker_pool.h"

#include <atomic>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/controller/scheduler.h"

namespace fleetadm::controller {
namespace {

using namespace std::chrono_literals;

bool becomes_true(const std::function<bool()>& done, Duration most = 10s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

ControllerOptions test_lane(int workers = 1) {
  ControllerOptions options;
  options.name = "test";
  options.workers = workers;
  return options;
}

int threads_of_this_process() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

TEST(WorkerPool, AHundredSchedulersTakeNoThreadsOfTheirOwn) {
  const auto pool = std::make_shared<WorkerPool>(3);
  const int before = threads_of_this_process();
  std::atomic<int> runs{0};
  std::vector<std::shared_ptr<Scheduler>> schedulers;
  for (int i = 0; i < 100; ++i) {
    auto& one = schedulers.emplace_back(std::make_shared<Scheduler>());
    ControllerOptions options = test_lane();
    options.resync = 1h;
    options.resync_keys = {"all"};
    one->add_lane(options, [&](const std::string&, std::stop_token) -> Result<Outcome> {
      ++runs;
      return Outcome{};
    });
    one->start(pool, 4);
  }
  EXPECT_TRUE(becomes_true([&] { return runs == 100; }));
  EXPECT_LE(threads_of_this_process(), before + 4);  // and the timekeeper
  for (const auto& one : schedulers) one->stop();
}

TEST(WorkerPool, ABusySchedulerDoesNotStarveAnother) {
  const auto pool = std::make_shared<WorkerPool>(1);
  auto busy = std::make_shared<Scheduler>();
  auto quiet = std::make_shared<Scheduler>();
  std::atomic<int> done{0};
  std::atomic<int> done_before_quiet{-1};
  const auto many = busy->add_lane(test_lane(4), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    std::this_thread::sleep_for(1ms);
    ++done;
    return Outcome{};
  });
  const auto one = quiet->add_lane(test_lane(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    done_before_quiet = done.load();
    return Outcome{};
  });
  for (int i = 0; i < 500; ++i) many->add(std::to_string(i));
  busy->start(pool, 4);
  one->add("a");
  quiet->start(pool, 4);
  EXPECT_TRUE(becomes_true([&] { return done == 500 && done_before_quiet >= 0; }));
  EXPECT_LT(done_before_quiet, 400);
  busy->stop();
  quiet->stop();
}

TEST(WorkerPool, ASchedulerTakesNoMoreThreadsThanItMay) {
  const auto pool = std::make_shared<WorkerPool>(3);
  auto hanging = std::make_shared<Scheduler>();
  auto other = std::make_shared<Scheduler>();
  std::atomic<int> inside{0};
  std::atomic<bool> ran{false};
  const auto hangs = hanging->add_lane(test_lane(8), [&](const std::string&, std::stop_token stop) -> Result<Outcome> {
    ++inside;
    becomes_true([&] { return stop.stop_requested(); }, 60s);
    return Outcome{};
  });
  const auto works = other->add_lane(test_lane(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    ran = true;
    return Outcome{};
  });
  for (int i = 0; i < 8; ++i) hangs->add(std::to_string(i));
  hanging->start(pool, 2);
  other->start(pool, 2);
  EXPECT_TRUE(becomes_true([&] { return inside == 2; }));
  works->add("a");
  EXPECT_TRUE(becomes_true([&] { return ran.load(); }));
  EXPECT_EQ(inside, 2);
  hanging->stop();
  other->stop();
}

TEST(WorkerPool, StoppingOneSchedulerWaitsForItsOwnWorkAndDoesNotStopAnothers) {
  const auto pool = std::make_shared<WorkerPool>(2);
  auto first = std::make_shared<Scheduler>();
  auto second = std::make_shared<Scheduler>();
  std::atomic<bool> began{false}, ended{false};
  std::atomic<int> runs{0};
  const auto slow = first->add_lane(test_lane(), [&](const std::string&, std::stop_token stop) -> Result<Outcome> {
    began = true;
    becomes_true([&] { return stop.stop_requested(); }, 60s);
    ended = true;
    return Outcome{};
  });
  const auto ticking = second->add_lane(test_lane(), [&](const std::string&, std::stop_token) -> Result<Outcome> {
    ++runs;
    return Outcome{2ms};
  });
  slow->add("a");
  slow->add("b");
  first->start(pool, 1);
  ticking->add("a");
  second->start(pool, 1);
  EXPECT_TRUE(becomes_true([&] { return began && runs > 2; }));
  first->stop();
  EXPECT_TRUE(ended);
  const int then = runs;
  EXPECT_TRUE(becomes_true([&] { return runs > then + 5; }));
  slow->add("c");  // waits until it is started again
  EXPECT_EQ(first->stats().at(0).depth, 2u);
  ended = false;
  first->start(pool, 1);
  EXPECT_TRUE(becomes_true([&] { return first->stats().at(0).active == 1; }));
  first->stop();
  EXPECT_TRUE(ended);
  second->stop();
}

TEST(WorkerPool, StartAndStopUnderLoadLeaveNothingBehind) {
  const auto pool = std::make_shared<WorkerPool>(4);
  std::vector<std::thread> starters;
  for (int t = 0; t < 4; ++t) {
    starters.emplace_back([&pool] {
      for (int i = 0; i < 100; ++i) {
        std::atomic<int> runs{0};
        auto scheduler = std::make_shared<Scheduler>();
        const auto queue = scheduler->add_lane(test_lane(2), [&runs](const std::string&, std::stop_token) -> Result<Outcome> {
          ++runs;
          return Outcome{1ms};
        });
        for (int key = 0; key < 10; ++key) queue->add(std::to_string(key));
        scheduler->start(pool, 2);
        EXPECT_TRUE(becomes_true([&] { return runs > 5; }));
        scheduler->stop();  // `runs` goes now: nothing may run any more
        EXPECT_EQ(scheduler.use_count(), 1);
      }
    });
  }
  for (auto& one : starters) one.join();
}

}  // namespace
}  // namespace fleetadm::controller
