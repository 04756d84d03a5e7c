// What roll-outs have decided, handed to the passes that write it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/addon/rules/configuration.h"

namespace fleetadm::addon {

/// In memory alone: what was decided and not written is decided again by the next process. Thread-safe.
class ConfigDecisions {
 public:
  /// Takes over what a step has decided, in place of what was. The clusters whose add-ons have to be looked at for it: those of a
  /// new decision, and those that no step knew before.
  std::vector<std::string> take(const std::string& addon, const RolloutStep& step);
  /// The add-on of a cluster is gone.
  void forget(const std::string& addon, const std::string& cluster);
  /// The declaration is gone.
  void forget(const std::string& addon);

  struct Answer {
    bool known = false;  // a step has looked at it
    std::optional<ConfigDecision> decision;
  };
  Answer of(const std::string& addon, const std::string& cluster) const;

 private:
  struct Known {
    std::map<std::string, ConfigDecision> decisions;  // by cluster
    std::set<std::string> looked_at;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;  // by add-on
};

}  // namespace fleetadm::addon
