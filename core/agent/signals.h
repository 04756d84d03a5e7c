// Tells a program that owns no thread that something changed.
#pragma once

#include <functional>
#include <mutex>

namespace fleetadm::agent {

class Signal {
 public:
  /// Remembered until it is taken; runs the hook. Any thread, the I/O thread too.
  void fire();
  /// Whether it fired since it was taken last.
  bool fired() const;
  /// The same, and forgets it.
  bool take();
  /// Runs on the firing thread; keep it short. An empty function takes it away; it does not run any more then.
  void set_hook(std::function<void()> hook);

 private:
  mutable std::mutex mutex_;
  std::function<void()> hook_;
  bool fired_ = false;
};

}  // namespace fleetadm::agent
