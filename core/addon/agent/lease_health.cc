#include "core/addon/agent/lease_health.h"

namespace fleetadm::addon::agent {
namespace {

constexpr auto kGrace = std::chrono::seconds(5 * 60);

}  // namespace

Json lease_condition(const std::optional<Json>& lease, const std::string& addon, Instant now) {
  if (!lease) {
    return {{"status", "Unknown"},
            {"reason", "ManagedClusterAddOnLeaseNotFound"},
            {"message", "The status of " + addon + " add-on is unknown."}};
  }
  const auto renewed = parse_time(str(*lease, {"spec", "renewTime"}));
  if (renewed && now < *renewed + kGrace) {
    return {{"status", "True"}, {"reason", "ManagedClusterAddOnLeaseUpdated"}, {"message", addon + " add-on is available."}};
  }
  return {
      {"status", "False"}, {"reason", "ManagedClusterAddOnLeaseUpdateStopped"}, {"message", addon + " add-on is not available."}};
}

}  // namespace fleetadm::addon::agent
