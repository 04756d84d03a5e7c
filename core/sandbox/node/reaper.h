// Tells when child processes end: one thread with epoll for all of them.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace fleetadm::sandbox {

class Reaper {
 public:
  Reaper();
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  /// Calls `ended` once, on the reaper's thread, when the process of a pidfd has ended. Closing the pidfd forgets it.
  void watch(int pidfd, std::function<void()> ended);

 private:
  void loop(const std::stop_token& stop);

  int epoll_ = -1;
  int wake_ = -1;
  std::mutex mutex_;
  std::map<int, std::function<void()>> watched_;
  std::jthread thread_;
};

}  // namespace fleetadm::sandbox
