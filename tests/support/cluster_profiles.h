// ClusterProfiles on a test's hub: as little of the definition as programs that read them need.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/yaml.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

inline constexpr std::string_view kProfilesOfApps = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/apps/clusterprofiles";

/// The kind, the namespace "apps" with the cluster set "default", and in it the profile of c1, which a hub may make itself.
/// Empty, or what was refused.
inline std::string make_cluster_profile(const KubeServer& hub) {
  const auto definition = parse_yaml(R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterprofiles.multicluster.x-k8s.io}
spec:
  group: multicluster.x-k8s.io
  scope: Namespaced
  names: {kind: ClusterProfile, listKind: ClusterProfileList, plural: clusterprofiles, singular: clusterprofile}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
             status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
)");
  const auto profile = parse_yaml(R"(apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata:
  name: c1
  namespace: apps
  labels: {x-k8s.io/cluster-manager: open-cluster-management, open-cluster-management.io/cluster-name: c1}
spec: {clusterManager: {name: open-cluster-management}}
)");
  const auto binding = parse_yaml(R"(apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: default, namespace: apps}
spec: {clusterSet: default}
)");
  if (!definition || !profile || !binding) return "a mistake in the test's YAML";
  const Json ns{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}};
  for (const auto& [collection, object] :
       {std::pair<std::string, Json>("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", *definition),
        std::pair<std::string, Json>("/api/v1/namespaces", ns),
        std::pair<std::string, Json>("/apis/cluster.open-cluster-management.io/v1beta2/namespaces/apps/managedclustersetbindings",
                                     *binding)}) {
    const auto made = hub.create(collection, object);
    if (made.status != 201 && made.status != 409) return made.body;
  }
  std::string refused;
  const auto served = [&] {
    const auto made = hub.create(kProfilesOfApps, *profile);
    refused = made.body;
    return made.status == 201 || made.status == 409;
  };
  return eventually(served) ? "" : refused;
}

}  // namespace fleetadm::testkit
