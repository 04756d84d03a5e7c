#include "kubeclient/transport/epoll_loop.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace fleetadm::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(EpollLoopTest, RunsWorkAndTimersInOrderAndForgetsCancelledOnes) {
  EpollLoop loop;
  std::mutex mutex;
  std::condition_variable changed;
  std::string order;
  const auto add = [&](char c) {
    const std::scoped_lock lock(mutex);
    order += c;
    changed.notify_all();
  };
  loop.after(milliseconds(60), [&] { add('d'); });
  const auto never = loop.after(milliseconds(40), [&] { add('X'); });
  loop.after(milliseconds(20), [&] {
    EXPECT_TRUE(loop.on_thread());
    loop.cancel(never);
    add('c');
  });
  loop.post([&] { add('a'); });
  loop.post([&] { add('b'); });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, seconds(10), [&] { return order.size() == 4; }));
  EXPECT_EQ(order, "abcd");
  EXPECT_FALSE(loop.on_thread());
}

TEST(EpollLoopTest, ShutdownWaitsForTheThreadWhoeverStillHoldsTheLoop) {
  // At the end of a process the loop's thread may hold the last reference; it must be gone all the same.
  struct AtThreadEnd {
    std::atomic<bool>* ended = nullptr;
    ~AtThreadEnd() {
      if (ended == nullptr) return;
      std::this_thread::sleep_for(milliseconds(50));
      *ended = true;
    }
  };
  std::atomic<bool> ended{false};
  std::promise<void> begun;
  auto loop = std::make_shared<EpollLoop>();
  loop->post([&ended, &begun, held = loop] {
    thread_local AtThreadEnd at_end;
    at_end.ended = &ended;
    begun.set_value();
  });
  begun.get_future().wait();
  loop->shutdown();
  EXPECT_TRUE(ended);
  const auto token = std::make_shared<int>(1);
  loop->post([token] {});
  loop->after(milliseconds(1), [token] {});
  EXPECT_EQ(token.use_count(), 1);  // dropped, not kept
  const std::weak_ptr<EpollLoop> gone = loop;
  loop.reset();
  EXPECT_TRUE(gone.expired());
}

TEST(EpollLoopTest, OffloadedWorkRunsElsewhereAndThrownExceptionsEndNothing) {
  EpollLoop loop;
  std::mutex mutex;
  std::condition_variable changed;
  int done = 0;
  loop.post([] { throw std::runtime_error("a defect"); });
  loop.offload([&] {
    EXPECT_FALSE(loop.on_thread());
    loop.post([&] {
      const std::scoped_lock lock(mutex);
      ++done;
      changed.notify_all();
    });
  });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, seconds(10), [&] { return done == 1; }));
}

}  // namespace
}  // namespace fleetadm::kube
