#include "core/registration/hub/lease_rules.h"

#include <algorithm>

#include "core/api/cluster_lease.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::registration::hub {
namespace {

constexpr const char* kNeverUpdated = "ClusterStatusNeverUpdated";
constexpr std::string_view kSkipClockCheck = "registration.open-cluster-management.io/skip-clock-sync-check";

/// Every agent says that it has joined before anything else, and so does the hub of its push members.
bool has_reported(const Json& cluster) { return controller::condition_is(cluster, api::kConditionJoined, "True"); }

}  // namespace

std::optional<Instant> renew_time(const Json& lease) { return parse_time(str(lease, {"spec", "renewTime"})); }

LeaseVerdict judge_lease(const Json& lease, Instant seen_at, Duration grace, Instant now) {
  const auto renewed = renew_time(lease);
  if (!renewed) return {true, grace};
  const Instant counts = std::min(*renewed, seen_at);
  if (counts < now - grace) return {true, grace};
  // One nanosecond past the moment: at the moment itself the lease still counts.
  return {false, grace - (now - counts) + Duration(1)};
}

bool set_lease_stopped(Json& cluster, Instant now) {
  Json& conditions = at_or_make(cluster, {"status", "conditions"});
  bool changed = controller::set_condition(conditions, api::kConditionAvailable, "Unknown", "ManagedClusterLeaseUpdateStopped",
                                           "Registration agent stopped updating its lease.", now);
  const auto set_ready = [&](const char* reason, const char* message) {
    return controller::set_condition(conditions, api::kConditionReady, "Unknown", reason, message, now);
  };
  if (!has_reported(cluster))
    return set_ready(kNeverUpdated, "What looks after the cluster has never told how it is.") || changed;
  if (controller::find_condition(cluster, api::kConditionReady) == nullptr) return changed;
  return set_ready("ClusterStatusUnknown", "What looks after the cluster stopped telling how it is.") || changed;
}

bool forget_never_seen(Json& cluster) {
  const Json* ready = controller::find_condition(cluster, api::kConditionReady);
  if (ready == nullptr || str(*ready, {"reason"}) != kNeverUpdated || !has_reported(cluster)) return false;
  Json& conditions = cluster["status"]["conditions"];
  conditions.erase(conditions.begin() + (ready - &conditions.front()));
  return true;
}

bool set_clock_verdict(Json& cluster, Instant renewed, Instant seen_at, Instant now) {
  const Duration grace = api::lease_grace(cluster);
  const bool close = renewed >= seen_at - grace && renewed <= seen_at + grace;
  Json& conditions = at_or_make(cluster, {"status", "conditions"});
  if (close || annotation_of(cluster, kSkipClockCheck) == "true") {
    return controller::set_condition(conditions, api::kConditionClockSynced, "True", "ManagedClusterClockSynced",
                                     "The clock of the managed cluster is synced with the hub.", now);
  }
  return controller::set_condition(conditions, api::kConditionClockSynced, "False", "ManagedClusterClockOutOfSync",
                                   "The clocks of hub and managed cluster differ by more than " + format_duration(grace) + ".",
                                   now);
}

}  // namespace fleetadm::registration::hub
