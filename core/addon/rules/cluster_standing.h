// What a cluster tells of its add-ons, and what is told of the add-ons of a cluster that is not heard from
// (docs/reference/addon.md#health).
#pragma once

#include <string_view>

#include "core/addon/rules/pass.h"

namespace fleetadm::addon {

/// The labels feature.open-cluster-management.io/addon-NAME of the ManagedCluster: "available", "unhealthy" or "unreachable", as
/// Available of each ManagedClusterAddOn is; none for one under deletion, or whose name makes no label. They are left alone
/// until the cluster has reported, and once it is under deletion.
/// While the cluster's availability is Unknown, its add-ons get the same Available.
Pass cluster_standing(const ObjectReader& objects, std::string_view cluster, Instant now);

}  // namespace fleetadm::addon
