// Makes each accepted cluster's lease and watches it: expiry, and the clock that the agent writes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/hub/objects.h"
#include "kubeclient/events/recorder.h"

namespace fleetadm::registration::hub {

/// When the hub saw each cluster's lease renewed, by its own clock. Thread-safe.
class LeaseObservations {
 public:
  struct Observation {
    Instant renewed;       // as the agent wrote it
    Instant seen_at;       // when we saw it
    bool renewal = false;  // seen as a change, not as a lease that was there already
  };
  explicit LeaseObservations(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}
  /// To be called for each event of the leases' informer.
  void observe(kube::EventType type, const kube::CachedObject& lease);
  std::optional<Observation> of(const std::string& cluster) const;

 private:
  std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Observation> by_cluster_;
};

class LeaseController {
 public:
  /// The lease cache holds only leases named managed-cluster-lease. `recorder` may be null.
  LeaseController(Tools tools, std::shared_ptr<kube::Informer> clusters, std::shared_ptr<kube::Informer> leases,
                  std::shared_ptr<LeaseObservations> sightings, std::shared_ptr<kube::Recorder> recorder)
      : tools_(std::move(tools)),
        clusters_(std::move(clusters)),
        leases_(std::move(leases)),
        sightings_(std::move(sightings)),
        recorder_(std::move(recorder)) {}

  /// `key` is the cluster's name.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Result<controller::Outcome> lease_missing(const kube::Client& client, const Json& cluster);
  Status judge_clock(const Json& cluster, const std::stop_token& stop);
  Status set_unknown(const kube::Client& client, const Json& cluster);

  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<kube::Informer> leases_;
  std::shared_ptr<LeaseObservations> sightings_;
  std::shared_ptr<kube::Recorder> recorder_;
};

}  // namespace fleetadm::registration::hub
