#include "core/agent/signals.h"

#include <utility>

namespace fleetadm::agent {

void Signal::fire() {
  const std::lock_guard lock(mutex_);
  fired_ = true;
  if (hook_) hook_();
}

bool Signal::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

bool Signal::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fired_, false);
}

void Signal::set_hook(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

}  // namespace fleetadm::agent
