// The parts of an agent that have caches to fill: its heartbeat begins when all of them have, and until then its hub is told
// which one has not.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace fleetadm::agent {

/// Thread-safe.
class Parts {
 public:
  /// `missing`: what the part lacks, one line each; empty: nothing.
  void add(std::string name, std::function<std::string()> missing);
  /// There are no more to come.
  void complete();

  /// What is not ready, in one line; empty once all were, for good: what is lost later is found out by the part itself.
  std::string not_ready();

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::function<std::string()>>> parts_;
  bool complete_ = false;
  bool ready_ = false;
};

}  // namespace fleetadm::agent
