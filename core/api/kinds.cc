#include "core/api/kinds.h"

namespace fleetadm::api {
namespace {
constexpr const char* kCluster = "cluster.open-cluster-management.io";
constexpr const char* kWork = "work.open-cluster-management.io";
constexpr const char* kAddon = "addon.open-cluster-management.io";
}  // namespace

#define FLEETADM_KIND(fn, group, version, plural, kind, namespaced)                 \
  const kube::Resource& fn() {                                                      \
    static const kube::Resource resource{group, version, plural, kind, namespaced}; \
    return resource;                                                                \
  }
FLEETADM_KIND(managed_clusters, kCluster, "v1", "managedclusters", "ManagedCluster", false)
FLEETADM_KIND(managed_cluster_sets, kCluster, "v1beta2", "managedclustersets", "ManagedClusterSet", false)
FLEETADM_KIND(managed_cluster_set_bindings, kCluster, "v1beta2", "managedclustersetbindings", "ManagedClusterSetBinding", true)
FLEETADM_KIND(placements, kCluster, "v1beta1", "placements", "Placement", true)
FLEETADM_KIND(placement_decisions, kCluster, "v1beta1", "placementdecisions", "PlacementDecision", true)
FLEETADM_KIND(addon_placement_scores, kCluster, "v1alpha1", "addonplacementscores", "AddOnPlacementScore", true)
FLEETADM_KIND(cluster_claims, kCluster, "v1alpha1", "clusterclaims", "ClusterClaim", false)
FLEETADM_KIND(cluster_properties, "about.k8s.io", "v1alpha1", "clusterproperties", "ClusterProperty", false)
FLEETADM_KIND(manifest_works, kWork, "v1", "manifestworks", "ManifestWork", true)
FLEETADM_KIND(applied_manifest_works, kWork, "v1", "appliedmanifestworks", "AppliedManifestWork", false)
FLEETADM_KIND(manifest_work_replica_sets, kWork, "v1alpha1", "manifestworkreplicasets", "ManifestWorkReplicaSet", true)
FLEETADM_KIND(managed_cluster_addons, kAddon, "v1alpha1", "managedclusteraddons", "ManagedClusterAddOn", true)
FLEETADM_KIND(cluster_management_addons, kAddon, "v1alpha1", "clustermanagementaddons", "ClusterManagementAddOn", false)
FLEETADM_KIND(managed_cluster_addons_v1beta1, kAddon, "v1beta1", "managedclusteraddons", "ManagedClusterAddOn", true)
FLEETADM_KIND(cluster_management_addons_v1beta1, kAddon, "v1beta1", "clustermanagementaddons", "ClusterManagementAddOn", false)
FLEETADM_KIND(addon_deployment_configs, kAddon, "v1beta1", "addondeploymentconfigs", "AddOnDeploymentConfig", true)
FLEETADM_KIND(addon_templates, kAddon, "v1alpha1", "addontemplates", "AddOnTemplate", false)
FLEETADM_KIND(managed_proxy_configurations, "proxy.open-cluster-management.io", "v1alpha1", "managedproxyconfigurations",
              "ManagedProxyConfiguration", false)
#undef FLEETADM_KIND

}  // namespace fleetadm::api
