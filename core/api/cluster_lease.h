// How often a cluster's lease is renewed, and how long the hub waits for it
// (docs/reference/registration.md#lease-and-availability).
#pragma once

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::api {

/// spec.leaseDurationSeconds of a ManagedCluster; absent, 0 or negative: 60 s. At most ten years.
Duration lease_period(const Json& managed_cluster);
/// Five times that: without a renewal for so long the cluster is Unknown.
Duration lease_grace(const Json& managed_cluster);

}  // namespace fleetadm::api
