// Decisions that do not agree with their placement's status: a scheduler may be in the middle of writing them, or another
// scheduler (or a person) writes decisions and leaves the status alone. They are followed once they have not changed for a while.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/work/rules/replica_set_rules.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::work {

/// A scheduler writes the decisions of one placement within milliseconds of each other, and its status right after them.
inline constexpr Duration kDecisionRest = std::chrono::seconds(5);

/// Remembers since when decisions are what they are. Thread-safe.
class DecisionRest {
 public:
  /// Sets view.at_rest. Returns how long it takes until that can become true; nullopt: it agrees, or it is at rest.
  std::optional<Duration> observe(const std::string& placement_key, PlacementView& view, Instant now);

 private:
  struct Observation {
    PlacementView view;
    Instant since;
  };
  std::mutex mutex_;
  std::map<std::string, Observation> observed_;  // by placement; only what does not agree
};

}  // namespace fleetadm::work
