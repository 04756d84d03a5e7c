// What upstream's mutating webhook and taint controller fill in on a ManagedCluster: the default set's label, timeAdded of
// taints, the taints that follow availability, the clean-up finalizers (docs/reference/registration.md).
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/hub/objects.h"

namespace fleetadm::registration::hub {

inline constexpr std::string_view kUnavailableTaint = "cluster.open-cluster-management.io/unavailable";

/// The taints that follow the Available condition (absent or Unknown: unreachable, False: unavailable, True: none; none while a
/// push member awaits its first report), and timeAdded for each taint that has none. Taints of others are kept. True where
/// anything changed.
bool sync_taints(Json& cluster, Instant now);
/// An absent or empty set label becomes "default".
bool default_cluster_set(Json& cluster);
/// All of the above and the finalizers that keep the cluster until nothing is left of it on the hub; nothing on a cluster that is
/// being deleted.
bool apply_cluster_defaults(Json& cluster, Instant now);

class ClusterDefaulter {
 public:
  ClusterDefaulter(Tools tools, std::shared_ptr<kube::Informer> clusters)
      : tools_(std::move(tools)), clusters_(std::move(clusters)) {}
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
};

}  // namespace fleetadm::registration::hub
