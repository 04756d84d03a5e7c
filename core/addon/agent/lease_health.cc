#include "core/addon/agent/lease_health.h"

#include <algorithm>

namespace fleetadm::addon::agent {
namespace {

constexpr auto kGrace = std::chrono::seconds(5 * 60);

/// Until when the add-on counts as available; nullopt: it does not.
std::optional<Instant> good_until(const std::optional<Json>& lease, Instant now) {
  if (!lease) return std::nullopt;
  const auto renewed = parse_time(str(*lease, {"spec", "renewTime"}));
  if (!renewed || now >= *renewed + kGrace) return std::nullopt;
  return *renewed + kGrace;
}

}  // namespace

Duration lease_look(const std::optional<Json>& lease, Instant now) {
  const auto until = good_until(lease, now);
  return until ? std::min<Duration>(*until - now, kGrace) : kLeaseLook;
}

Json lease_condition(const std::optional<Json>& lease, const std::string& addon, Instant now) {
  if (!lease) {
    return {{"status", "Unknown"},
            {"reason", "ManagedClusterAddOnLeaseNotFound"},
            {"message", "The status of " + addon + " add-on is unknown."}};
  }
  if (good_until(lease, now)) {
    return {{"status", "True"}, {"reason", "ManagedClusterAddOnLeaseUpdated"}, {"message", addon + " add-on is available."}};
  }
  return {
      {"status", "False"}, {"reason", "ManagedClusterAddOnLeaseUpdateStopped"}, {"message", addon + " add-on is not available."}};
}

}  // namespace fleetadm::addon::agent
