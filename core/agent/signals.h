// Wakes a waiting thread from any other.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>

#include "kubeclient/base/clock.h"

namespace fleetadm::agent {

class Signal {
 public:
  /// Wakes the waiter, or the next one to come, and runs the hook. Any thread, the I/O thread too.
  void fire();
  /// True: fired since the last wait. False: the time is over or `stop` is set.
  bool wait(Duration timeout, std::stop_token stop);
  /// Runs on the firing thread; keep it short. Runs at once where the signal fired since the last wait. An empty function takes
  /// it away; it does not run any more then.
  void set_hook(std::function<void()> hook);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::function<void()> hook_;
  bool fired_ = false;
};

/// A signal's hook for the life of this object.
class Hook {
 public:
  Hook(Signal& signal, std::function<void()> run) : signal_(signal) { signal_.set_hook(std::move(run)); }
  ~Hook() { signal_.set_hook({}); }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

 private:
  Signal& signal_;
};

}  // namespace fleetadm::agent
