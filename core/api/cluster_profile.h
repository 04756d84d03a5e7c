// ClusterProfile of the cluster inventory API: a cluster as seen by programs in the profile's namespace
// (docs/reference/managed-serviceaccount.md#clusterprofiles).
#pragma once

#include <string_view>

#include "kubeclient/rest/resource.h"

namespace fleetadm::api {

const kube::Resource& cluster_profiles();  // multicluster.x-k8s.io/v1alpha1

/// Which manager of clusters a profile is of, and which cluster.
inline constexpr std::string_view kClusterManagerLabel = "x-k8s.io/cluster-manager";
inline constexpr std::string_view kClusterManager = "open-cluster-management";
inline constexpr std::string_view kProfileClusterLabel = "open-cluster-management.io/cluster-name";

}  // namespace fleetadm::api
