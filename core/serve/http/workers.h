// The threads that answer requests.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fleetadm::serve {

/// Thread-safe.
class Workers {
 public:
  explicit Workers(std::size_t threads);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// False after stop(), and where kMaxQueuedRequests wait already.
  bool add(std::function<void()> task);
  /// HttpRuntime::wait_outside().
  void wait_outside(const std::function<void()>& wait);
  /// Runs what waits, refuses the rest and joins. Idempotent.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t outside_ = 0;
  std::size_t stand_ins_ = 0;
  bool stopping_ = false;
};

}  // namespace fleetadm::serve
