#include "core/registration/agent/lease.h"

#include <utility>

#include "core/api/cluster_lease.h"
#include "core/api/kinds.h"

namespace fleetadm::registration::agent {
namespace {

constexpr double kJitterShare = 0.25;
constexpr int kFreshShare = 4;  // of a period: a quarter

}  // namespace

LeaseRenewer::LeaseRenewer(kube::Client hub, std::string cluster, std::shared_ptr<Clock> clock, std::function<double()> jitter,
                           bool of_hub)
    : hub_(std::move(hub)), cluster_(std::move(cluster)), clock_(std::move(clock)), jitter_(std::move(jitter)), of_hub_(of_hub) {}

std::optional<Duration> renewal_period(const Json& managed_cluster) {
  if (!controller::condition_is(managed_cluster, api::kConditionHubAccepted, "True")) return std::nullopt;
  return api::lease_period(managed_cluster);
}

Result<controller::Outcome> LeaseRenewer::reconcile(std::optional<Duration> wanted) {
  if (!wanted) {
    due_.reset();
    lease_.reset();
    return controller::Outcome{};
  }
  const Duration period = *wanted;
  const Instant now = clock_->now();
  // A clock that was set back must not silence the heartbeat.
  const bool running = due_ && period == period_ && now < *due_ && *due_ - now <= period_ + period_ / 2;
  if (!running) {
    const bool begins = of_hub_ && !due_;
    FLEETADM_TRY(const bool fresh, begins ? is_fresh(period) : Result<bool>(false));
    if (!fresh) FLEETADM_CHECK(renew());
    renewed_ = now;
    period_ = period;
    due_ = now + period + std::chrono::duration_cast<Duration>(period * (kJitterShare * jitter_()));
  }
  return controller::Outcome{*due_ - now};
}

Result<bool> LeaseRenewer::is_fresh(Duration period) {
  FLEETADM_TRY(Json lease, hub_.get(kube::resources::leases(), cluster_, api::kClusterLease));
  const auto renewed = parse_time(str(lease, {"spec", "renewTime"}));
  lease_.emplace(kube::object_key(lease), std::move(lease));
  const Instant now = clock_->now();
  return renewed && *renewed <= now && now - *renewed < period / kFreshShare;
}

Status LeaseRenewer::renew() {
  const auto attempt = [this]() -> Status {
    Json lease;
    if (lease_) {
      lease = lease_->decode();
    } else {
      FLEETADM_TRY(lease, hub_.get(kube::resources::leases(), cluster_, api::kClusterLease));
    }
    at_or_make(lease, {"spec"})["renewTime"] = format_micro_time(clock_->now());
    // Unknown until answered: a failed write leaves nothing behind that a later one would build on.
    lease_.reset();
    FLEETADM_TRY(Json answer, hub_.update(kube::resources::leases(), lease));
    // It is kept without managedFields: the server keeps what an update does not name.
    lease_.emplace(kube::object_key(answer), std::move(answer));
    return {};
  };
  const bool remembered = lease_.has_value();
  Status done = attempt();
  const bool stale = !done && (done.error().category == Category::kConflict || done.error().category == Category::kNotFound);
  if (stale && remembered) return attempt();
  return done;
}

}  // namespace fleetadm::registration::agent
