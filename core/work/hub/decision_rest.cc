#include "core/work/hub/decision_rest.h"

#include <utility>

namespace fleetadm::work {
namespace {

bool same_decisions(const PlacementView& a, const PlacementView& b) {
  if (a.decided != b.decided || a.selected != b.selected || a.status_groups != b.status_groups) return false;
  if (a.groups.size() != b.groups.size()) return false;
  for (std::size_t i = 0; i < a.groups.size(); ++i) {
    if (a.groups[i].key != b.groups[i].key || a.groups[i].clusters != b.groups[i].clusters) return false;
  }
  return true;
}

}  // namespace

std::optional<Duration> DecisionRest::observe(const std::string& placement_key, PlacementView& view, Instant now) {
  const std::lock_guard lock(mutex_);
  view.at_rest = false;
  if (!view.exists || view.agrees()) {
    observed_.erase(placement_key);
    return std::nullopt;
  }
  const auto [known, first] = observed_.try_emplace(placement_key, Observation{view, now});
  // A clock that was set back begins anew.
  if (!first && (!same_decisions(known->second.view, view) || now < known->second.since)) known->second = {view, now};
  const Duration rested = now - known->second.since;
  view.at_rest = rested >= kDecisionRest;
  return view.at_rest ? std::nullopt : std::optional<Duration>(kDecisionRest - rested);
}

}  // namespace fleetadm::work
