#include "core/api/cluster_profile.h"

namespace fleetadm::api {

const kube::Resource& cluster_profiles() {
  static const kube::Resource resource{"multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", "ClusterProfile", true};
  return resource;
}

}  // namespace fleetadm::api
