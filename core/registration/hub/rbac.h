// The objects that an accepted cluster gets on the hub: namespace, least RBAC, lease. Pure
// (docs/reference/registration.md#acceptance, docs/reference/registration.md#lease-and-availability;
// docs/reference/ocm-api.md#rbac-of-a-cluster).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::registration::hub {

inline constexpr std::string_view kApiCleanupFinalizer = "cluster.open-cluster-management.io/api-resource-cleanup";
inline constexpr std::string_view kResourceCleanupFinalizer = "cluster.open-cluster-management.io/resource-cleanup";
inline constexpr std::string_view kWorkCleanupFinalizer = "cluster.open-cluster-management.io/manifest-work-cleanup";
/// On a namespace that the hub made for a cluster, with the cluster's name. One that was there before gets the cluster's label as
/// well, but not this: it is someone else's and stays when the cluster leaves.
inline constexpr std::string_view kNamespaceMadeForAnnotation = "fleetadm.io/made-for-cluster";
inline constexpr std::string_view kSharedRegistrationRole = "open-cluster-management:managedcluster:registration";
inline constexpr std::string_view kSharedWorkRole = "open-cluster-management:managedcluster:work";
inline constexpr std::string_view kFiguresRole = "open-cluster-management:fleetadm-cluster-figures";

std::string cluster_role_name(std::string_view cluster);  // also of the ClusterRoleBinding
/// The cluster of such a name; empty where it is none.
std::string_view cluster_of_role(std::string_view role);
std::string registration_binding_name(std::string_view cluster);
std::string work_binding_name(std::string_view cluster);
std::string figures_binding_name(std::string_view cluster);

Json cluster_namespace(std::string_view cluster);
/// `accepted` false: the reduced role of a denied cluster.
Json cluster_role(std::string_view cluster, bool accepted);
Json cluster_role_binding(std::string_view cluster);
Json registration_binding(std::string_view cluster);
Json work_binding(std::string_view cluster);
/// Of a cluster whose agent reports figures: to the role that comes with the hub (templates/hub/rbac.yaml).
Json figures_binding(std::string_view cluster);
Json cluster_lease(std::string_view cluster, Instant now);
/// The two ClusterRoles that all clusters share.
std::vector<Json> shared_roles();

/// Why a cluster must not have this name; empty: it may. Two names would let a cluster's own role replace a shared one, and a
/// system namespace must not become a cluster's.
std::string reserved_name(std::string_view cluster, std::string_view hub_namespace);

}  // namespace fleetadm::registration::hub
