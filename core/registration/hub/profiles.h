// ClusterProfiles of the cluster inventory API (docs/reference/registration.md#cluster-profiles): in each namespace that a
// cluster set is bound to, one for each cluster of the set, which says how the cluster is.
#pragma once

#include <memory>
#include <string>

#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::hub {

/// Whether a cluster is of a ManagedClusterSet.
bool is_in_set(const Json& cluster, const Json& set);

/// Metadata and spec of the profile of a cluster in a namespace.
Json profile_object(const std::string& ns, const Json& cluster);

/// A profile of Open Cluster Management's for the cluster whose name it has: others of that name are somebody else's.
bool is_our_profile(const Json& profile);

/// Gives a profile the labels that it has to have; true where that changed something.
bool label_profile(Json& profile, const Json& cluster);

/// Makes status tell of the cluster: version, claims as properties, ControlPlaneHealthy and Joined, and the access provider
/// "open-cluster-management" with the address that the cluster has told. What others have written into it stays. True where that
/// changed something.
bool mirror_cluster(Json& profile, const Json& cluster);

/// Adds the controller "cluster-profiles". Nothing happens before the hub has the kind.
void add_profiles(controller::Manager& manager, const kube::Client& hub);

}  // namespace fleetadm::registration::hub
