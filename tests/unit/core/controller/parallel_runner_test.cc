// Tasks side by side: every one, within the bound, whatever one of them does.
#include "core/controller/parallel_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fleetadm::controller {
namespace {

/// Counts how many tasks run at once.
class Gauge {
 public:
  void pass(std::chrono::milliseconds time = std::chrono::milliseconds(2)) {
    const int now = ++running_;
    for (int seen = most_; now > seen && !most_.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(time);
    --running_;
  }
  int most() const { return most_; }

 private:
  std::atomic<int> running_ = 0;
  std::atomic<int> most_ = 0;
};

TEST(ParallelRunner, DoEachTaskOnce) {
  ParallelRunner helpers(3);
  for (const std::size_t count : {0U, 1U, 2U, 50U}) {
    std::vector<std::atomic<int>> done(count);
    helpers.run(count, [&](std::size_t at) { ++done[at]; });
    EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; })) << count;
  }
}

TEST(ParallelRunner, RunSideBySideButNotMoreThanAllowed) {
  ParallelRunner helpers(3);
  Gauge gauge;
  helpers.run(40, [&](std::size_t) { gauge.pass(); });
  EXPECT_GT(gauge.most(), 1);
  EXPECT_LE(gauge.most(), 4);
}

TEST(ParallelRunner, ShareTheBoundAmongAllCallers) {
  ParallelRunner helpers(2);
  Gauge gauge;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 3; ++i) callers.emplace_back([&] { helpers.run(20, [&](std::size_t) { gauge.pass(); }); });
  }
  EXPECT_LE(gauge.most(), 3 + 2);
}

TEST(ParallelRunner, OneTaskAndNoHelpersStayOnTheCallersThread) {
  const auto caller = std::this_thread::get_id();
  ParallelRunner some(3);
  some.run(1, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  ParallelRunner none(0);
  std::vector<std::size_t> order;
  none.run(5, [&](std::size_t at) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(at);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(ParallelRunner, HandOnWhatATaskThrowsAndCanBeUsedAgain) {
  ParallelRunner helpers(3);
  EXPECT_THROW(helpers.run(8,
                           [&](std::size_t at) {
                             if (at == 2) throw std::runtime_error("no");
                           }),
               std::runtime_error);
  Gauge gauge;
  helpers.run(40, [&](std::size_t) { gauge.pass(); });
  EXPECT_GT(gauge.most(), 1);  // the permits came back
}

}  // namespace
}  // namespace fleetadm::controller
