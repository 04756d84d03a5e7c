#include "core/registration/hub/lease_controller.h"

#include "core/api/cluster_lease.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/hub/lease_rules.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::hub {
namespace {

namespace res = kube::resources;
using controller::Outcome;

constexpr const char* kLeaseName = "cluster-lease";

}  // namespace

void LeaseObservations::observe(kube::EventType type, const kube::CachedObject& lease) {
  const std::string cluster = kube::split_key(lease.key()).ns;
  if (type == kube::EventType::kDeleted) {
    const std::lock_guard lock(mutex_);
    by_cluster_.erase(cluster);
    return;
  }
  const auto renewed = renew_time(lease.decode());
  if (!renewed) return;
  const Instant now = clock_->now();
  const std::lock_guard lock(mutex_);
  const auto [known, fresh] = by_cluster_.try_emplace(cluster, Observation{*renewed, now, false});
  if (!fresh && known->second.renewed != *renewed) known->second = Observation{*renewed, now, true};
}

std::optional<LeaseObservations::Observation> LeaseObservations::of(const std::string& cluster) const {
  const std::lock_guard lock(mutex_);
  const auto known = by_cluster_.find(cluster);
  if (known == by_cluster_.end()) return std::nullopt;
  return known->second;
}

Result<Outcome> LeaseController::reconcile(const std::string& key, std::stop_token stop) {
  const auto cached = clusters_->get(key);
  if (!cached) return Outcome{};
  const Json cluster = tools_.clusters->newest(cached->decode());
  if (controller::find_condition(cluster, api::kConditionHubAccepted) == nullptr) return Outcome{};
  const kube::Client client = tools_.client.with_stop(stop);
  const auto lease = leases_->get(kube::object_key(key, api::kClusterLease));
  if (!lease) return lease_missing(client, cluster);

  FLEETADM_CHECK(tools_.modify_cluster(cluster, forget_never_seen, stop, "status"));
  // The lease of a push member is renewed by the hub.
  if (!is_deleting(cluster) && !api::is_push_member(cluster)) FLEETADM_CHECK(judge_clock(cluster, stop));
  const Duration grace = api::lease_grace(cluster);
  const Instant now = tools_.clock->now();
  const auto sighting = sightings_->of(key);
  LeaseVerdict verdict = judge_lease(lease->decode(), sighting ? sighting->seen_at : now, grace, now);
  if (!verdict.expired) return Outcome{verdict.look_again};
  Json changed = cluster;
  if (!set_lease_stopped(changed, now)) return Outcome{verdict.look_again};
  // A watch that lags must not make a living cluster unknown: the server's own lease decides.
  FLEETADM_TRY(const auto live, client.find(res::leases(), key, api::kClusterLease));
  if (!live) return lease_missing(client, cluster);
  verdict = judge_lease(*live, resource_version_of(*live) == lease->resource_version() && sighting ? sighting->seen_at : now,
                        grace, now);
  if (verdict.expired) FLEETADM_CHECK(set_unknown(client, cluster));
  return Outcome{verdict.look_again};
}

Result<Outcome> LeaseController::lease_missing(const kube::Client& client, const Json& cluster) {
  const std::string name = name_of(cluster);
  if (!is_deleting(cluster)) {
    const auto made = client.create(res::leases(), name, tools_.labelled(cluster_lease(name, tools_.clock->now())));
    // AlreadyExists: the cache is behind. NotFound: no namespace yet; the cluster's next change comes here again.
    if (made || made.error().category == Category::kConflict || made.error().category == Category::kNotFound) return Outcome{};
    return tl::unexpected(made.error());
  }
  Json changed = cluster;
  if (!set_lease_stopped(changed, tools_.clock->now())) return Outcome{};
  FLEETADM_TRY(const auto live, client.find(res::leases(), name, api::kClusterLease));
  if (!live) FLEETADM_CHECK(set_unknown(client, cluster));
  return Outcome{};
}

Status LeaseController::judge_clock(const Json& cluster, const std::stop_token& stop) {
  const auto sighting = sightings_->of(name_of(cluster));
  if (!sighting || !sighting->renewal) return {};
  const auto judge = [&](Json& object) {
    return set_clock_verdict(object, sighting->renewed, sighting->seen_at, tools_.clock->now());
  };
  Json changed = cluster;
  if (!judge(changed)) return {};
  // An agent renews its lease and writes its first status at the same moment: a first verdict that all is well comes after it,
  // since both write the same list of conditions.
  if (controller::find_condition(cluster, api::kConditionClockSynced) == nullptr &&
      controller::condition_is(changed, api::kConditionClockSynced, "True") &&
      !controller::condition_is(cluster, api::kConditionJoined, "True"))
    return {};
  return tools_.modify_cluster(cluster, judge, stop, "status");
}

Status LeaseController::set_unknown(const kube::Client& client, const Json& cluster) {
  const std::string name = name_of(cluster);
  bool changed = false;
  const auto stored = client.modify(
      api::managed_clusters(), {}, name,
      [&](Json& object) -> Status {
        changed = uid_of(object) == uid_of(cluster) && set_lease_stopped(object, tools_.clock->now());
        return {};
      },
      "status");
  if (!stored) {
    if (stored.error().category == Category::kNotFound) return {};
    return tl::unexpected(stored.error());
  }
  if (!changed) return {};
  log::info(1, kLeaseName, name + ": its agent stopped renewing the lease; it is Unknown now");
  // That a cluster which was denied falls silent is no news: its right to renew was taken.
  if (recorder_ && flag(*stored, {"spec", "hubAcceptsClient"})) {
    Json regarding = *stored;
    at_or_make(regarding, {"metadata", "namespace"}) = name;
    recorder_->event(
        regarding, name, "Warning", "AvailableUnknown", "AvailableUnknown",
        "The " + name +
            " is successfully imported. However, the connection check from the managed cluster to the hub cluster has failed");
  }
  return {};
}

}  // namespace fleetadm::registration::hub
