#include "core/addon/hub/config_decisions.h"

namespace fleetadm::addon {

std::vector<std::string> ConfigDecisions::take(const std::string& addon, const RolloutStep& step) {
  const std::lock_guard lock(mutex_);
  Known& known = known_[addon];
  std::vector<std::string> concerned;
  for (const std::string& cluster : step.looked_at) {
    const auto before = known.decisions.find(cluster);
    const auto now = step.decisions.find(cluster);
    const bool decided = now != step.decisions.end() && (before == known.decisions.end() || before->second != now->second);
    if (decided || !known.looked_at.contains(cluster)) concerned.push_back(cluster);
  }
  known = {step.decisions, step.looked_at};
  return concerned;
}

void ConfigDecisions::forget(const std::string& addon, const std::string& cluster) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(addon);
  if (known == known_.end()) return;
  known->second.decisions.erase(cluster);
  known->second.looked_at.erase(cluster);
}

void ConfigDecisions::forget(const std::string& addon) {
  const std::lock_guard lock(mutex_);
  known_.erase(addon);
}

ConfigDecisions::Answer ConfigDecisions::of(const std::string& addon, const std::string& cluster) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(addon);
  if (known == known_.end() || !known->second.looked_at.contains(cluster)) return {};
  const auto decision = known->second.decisions.find(cluster);
  if (decision == known->second.decisions.end()) return {true, std::nullopt};
  return {true, decision->second};
}

}  // namespace fleetadm::addon
