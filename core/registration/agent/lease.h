// The agent's heartbeat: renewal of the lease that the hub made for the cluster
// (docs/reference/registration.md#lease-and-availability).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/controller/controller.h"
#include "kubeclient/base/cached_object.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

/// The period of renewals while the hub accepts the cluster; nullopt: it does not, and nothing is renewed.
std::optional<Duration> renewal_period(const Json& managed_cluster);

/// Renews at once and then every period plus 0 to 25 %, while the hub accepts the cluster. It only ever updates (agents may not
/// create leases), and reads the lease only where the last answer is not at hand. One thread at a time.
class LeaseRenewer {
 public:
  /// `jitter` answers a number in [0, 1). `of_hub`: the hub renews it itself, and begins with what it has just written.
  LeaseRenewer(kube::Client hub, std::string cluster, std::shared_ptr<Clock> clock, std::function<double()> jitter,
               bool of_hub = false);

  /// `period`: of the cluster as cached now; nothing where that is not there. What failed is told by the Error; the caller tries
  /// again soon, long before the hub's grace of five periods ends.
  Result<controller::Outcome> reconcile(std::optional<Duration> period);
  /// When the hub last took a renewal.
  std::optional<Instant> renewed() const { return renewed_; }

 private:
  /// Whether another part of the hub has made or renewed it a moment ago.
  Result<bool> is_fresh(Duration period);
  Status renew();

  kube::Client hub_;
  std::string cluster_;
  std::shared_ptr<Clock> clock_;
  std::function<double()> jitter_;
  bool of_hub_;
  std::optional<kube::CachedObject> lease_;  // as last answered by the hub
  Duration period_{};                        // of the running interval
  std::optional<Instant> due_;               // nullopt: at once
  std::optional<Instant> renewed_;
};

}  // namespace fleetadm::registration::agent
