// Well-known names of the add-on API (docs/reference/addon.md#names).
#pragma once

#include <string_view>

namespace fleetadm::addon {

/// Annotations of a ManagedCluster with this prefix (there is no slash) are copied to its add-ons.
inline constexpr std::string_view kAnnotationPrefix = "addon.open-cluster-management.io";
inline constexpr std::string_view kAddonNamespaceLabel = "open-cluster-management.io/addon-namespace";
inline constexpr std::string_view kTemplateNameLabel = "open-cluster-management.io/addon-template-name";
inline constexpr std::string_view kHostingClusterAnnotation = "addon.open-cluster-management.io/hosting-cluster-name";
inline constexpr std::string_view kHostedLocationAnnotation = "addon.open-cluster-management.io/hosted-manifest-location";
inline constexpr std::string_view kPreDeleteAnnotation = "addon.open-cluster-management.io/addon-pre-delete";
inline constexpr std::string_view kDeletionOrphanAnnotation = "addon.open-cluster-management.io/deletion-orphan";
inline constexpr std::string_view kLifecycleAnnotation = "addon.open-cluster-management.io/lifecycle";
/// With "true" on a ClusterRole: the hub holds its rights, and so may bind it to add-on agents (aggregated,
/// templates/hub/rbac.yaml).
inline constexpr std::string_view kHubRoleLabel = "open-cluster-management.io/aggregate-to-addon-hub";
/// On a ManagedCluster, followed by the add-on's name: how its agent there is.
inline constexpr std::string_view kFeatureLabelPrefix = "feature.open-cluster-management.io/addon-";
/// On a ManagedCluster: {"registries": [{"source", "mirror"}]}.
inline constexpr std::string_view kImageRegistriesAnnotation = "open-cluster-management.io/image-registries";
inline constexpr std::string_view kInstallNamespaceAnnotation = "addon.open-cluster-management.io/v1alpha1-install-namespace";
inline constexpr std::string_view kValuesAnnotation = "addon.open-cluster-management.io/values";
/// On works: a JSON object "<resource>.<group>/<namespace>/<name>" → configuration hash.
inline constexpr std::string_view kConfigSpecHashAnnotation = "open-cluster-management.io/config-spec-hash";

inline constexpr std::string_view kPreDeleteFinalizer = "addon.open-cluster-management.io/addon-pre-delete";
inline constexpr std::string_view kHostedPreDeleteFinalizer = "addon.open-cluster-management.io/hosting-addon-pre-delete";
inline constexpr std::string_view kHostedManifestsFinalizer = "addon.open-cluster-management.io/hosting-manifests-cleanup";

inline constexpr std::string_view kGroup = "addon.open-cluster-management.io";
inline constexpr std::string_view kTemplates = "addontemplates";
inline constexpr std::string_view kDeploymentConfigs = "addondeploymentconfigs";

}  // namespace fleetadm::addon
