// Open Cluster Management's types and well-known names (docs/reference/ocm-api.md). Only names: objects travel as Json.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/rest/resource.h"

namespace fleetadm::api {

const kube::Resource& managed_clusters();              // cluster.open-cluster-management.io/v1
const kube::Resource& managed_cluster_sets();          // v1beta2
const kube::Resource& managed_cluster_set_bindings();  // v1beta2
const kube::Resource& placements();                    // v1beta1
const kube::Resource& placement_decisions();           // v1beta1
const kube::Resource& addon_placement_scores();        // v1alpha1
const kube::Resource& cluster_claims();                // v1alpha1
const kube::Resource& cluster_properties();            // about.k8s.io/v1alpha1
const kube::Resource& manifest_works();                // work.open-cluster-management.io/v1
const kube::Resource& applied_manifest_works();        // v1
const kube::Resource& manifest_work_replica_sets();    // v1alpha1
const kube::Resource& managed_cluster_addons();        // addon.open-cluster-management.io/v1alpha1
const kube::Resource& cluster_management_addons();     // v1alpha1
// As the controllers of add-ons read and write them.
const kube::Resource& managed_cluster_addons_v1beta1();
const kube::Resource& cluster_management_addons_v1beta1();
const kube::Resource& addon_deployment_configs();      // v1beta1
const kube::Resource& addon_templates();               // v1alpha1
const kube::Resource& managed_proxy_configurations();  // proxy.open-cluster-management.io/v1alpha1

inline constexpr std::string_view kClusterNameLabel = "open-cluster-management.io/cluster-name";
inline constexpr std::string_view kAddonNameLabel = "open-cluster-management.io/addon-name";
inline constexpr std::string_view kClusterSetLabel = "cluster.open-cluster-management.io/clusterset";
inline constexpr std::string_view kPlacementLabel = "cluster.open-cluster-management.io/placement";
inline constexpr std::string_view kHubNamespace = "open-cluster-management-hub";
inline constexpr std::string_view kBootstrapNamespace = "open-cluster-management";
inline constexpr std::string_view kBootstrapServiceAccount = "agent-registration-bootstrap";
inline constexpr std::string_view kAgentNamespace = "open-cluster-management-agent";
inline constexpr std::string_view kAgentDeployment = "fleetadm-agent";
inline constexpr std::string_view kAgentAddonNamespace = "open-cluster-management-agent-addon";
inline constexpr std::string_view kBootstrapSecret = "bootstrap-hub-kubeconfig";
inline constexpr std::string_view kHubKubeconfigSecret = "hub-kubeconfig-secret";
inline constexpr std::string_view kClusterLease = "managed-cluster-lease";
inline constexpr std::string_view kManagedClustersGroup = "system:open-cluster-management:managed-clusters";
inline constexpr std::string_view kClusterGroupPrefix = "system:open-cluster-management:";

inline constexpr std::string_view kConditionHubAccepted = "HubAcceptedManagedCluster";
inline constexpr std::string_view kConditionJoined = "ManagedClusterJoined";
inline constexpr std::string_view kConditionAvailable = "ManagedClusterConditionAvailable";
inline constexpr std::string_view kConditionClockSynced = "ManagedClusterConditionClockSynced";

inline constexpr std::string_view kDefaultClusterSet = "default";
inline constexpr std::string_view kGlobalClusterSet = "global";

}  // namespace fleetadm::api
