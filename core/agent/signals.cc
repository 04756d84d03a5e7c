#include "core/agent/signals.h"

#include <utility>

namespace fleetadm::agent {

void Signal::fire() {
  const std::lock_guard lock(mutex_);
  fired_ = true;
  if (hook_) hook_();
  changed_.notify_all();
}

bool Signal::wait(Duration timeout, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, timeout, [this] { return fired_; });
  return std::exchange(fired_, false);
}

void Signal::set_hook(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
  if (hook_ && fired_) hook_();
}

}  // namespace fleetadm::agent
