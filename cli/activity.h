// A person at a terminal sees that an answer is awaited, where it takes longer than a moment.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace fleetadm::cli {

/// Counts the requests without an answer. Where there has been at least one for `patience`, it shows so, until all are answered.
class Activity {
 public:
  /// `show` draws (true) or erases (false); it is called from several threads, one at a time.
  explicit Activity(std::function<void(bool)> show, std::chrono::milliseconds patience = std::chrono::milliseconds(300));

  void sent();
  void answered();
  /// Shows nothing from now on; what is shown is erased.
  void close();

 private:
  void run(const std::stop_token& stop);

  std::function<void(bool)> show_;
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::size_t waiting_ = 0;
  std::size_t quiet_times_ = 0;  // how often there was nothing to wait for: tells one wait from the next
  bool shown_ = false;
  bool closed_ = false;
  std::jthread timer_;  // the last member: it uses the others
};

}  // namespace fleetadm::cli
