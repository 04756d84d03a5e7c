#include "core/msa/agent/due_times.h"

namespace fleetadm::msa {

void DueTimes::set(const std::string& name, Instant at) {
  const std::lock_guard lock(mutex_);
  times_[name] = at;
}

void DueTimes::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  times_.erase(name);
}

std::vector<std::pair<std::string, Instant>> DueTimes::until(Instant at) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, Instant>> due;
  for (const auto& one : times_) {
    if (one.second <= at) due.emplace_back(one);
  }
  return due;
}

std::optional<std::string> DueTimes::next_in_turn() {
  const std::lock_guard lock(mutex_);
  if (times_.empty()) return std::nullopt;
  auto next = times_.upper_bound(last_);
  if (next == times_.end()) next = times_.begin();
  last_ = next->first;
  return last_;
}

}  // namespace fleetadm::msa
