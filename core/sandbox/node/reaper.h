// Tells when child processes end: one thread with epoll for all of them, of one node or of many.
#pragma once

#include <cstdint>
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

  /// Calls `ended` once, on the reaper's thread, when the process of a pidfd has ended. Closing the pidfd forgets it. `ended` may
  /// come after the caller has gone: it must hold what it uses.
  void watch(int pidfd, std::function<void()> ended);

 private:
  void loop(const std::stop_token& stop);

  int epoll_ = -1;
  int wake_ = -1;
  std::mutex mutex_;
  struct Watched {
    std::uint32_t number = 0;
    std::function<void()> ended;
  };
  std::map<int, Watched> watched_;  // by pidfd
  std::uint32_t last_number_ = 0;
  std::jthread thread_;
};

}  // namespace fleetadm::sandbox
