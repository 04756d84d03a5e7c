// When each account has to be looked at again. By the wall clock, so that nothing is late after the clock was set or the machine
// slept; a timer per account would be.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"

namespace fleetadm::msa {

/// Thread-safe.
class DueTimes {
 public:
  void set(const std::string& name, Instant at);
  void forget(const std::string& name);
  /// What is due by then, with its time.
  std::vector<std::pair<std::string, Instant>> until(Instant at) const;
  /// One after the other, in the order of their names, and then again from the first; nullopt where there is none.
  std::optional<std::string> next_in_turn();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Instant> times_;
  std::string last_;
};

}  // namespace fleetadm::msa
