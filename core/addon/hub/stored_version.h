// ManagedClusterAddOn and ClusterManagementAddOn as the hub reads and writes them: rules speak v1beta1, the server keeps
// v1alpha1. The hub converts by itself, so that neither a read nor a write of its own goes through the conversion webhook.
#pragma once

#include <string_view>

#include "kubeclient/rest/resource.h"

namespace fleetadm::addon {

/// The resource in the version that the server keeps; any other resource as it is.
kube::Resource stored_resource(kube::Resource resource);
/// In v1beta1. Of another kind, or of a version that is not known: as it is.
Json as_spoken(Json object);
/// In v1alpha1, likewise.
Json as_stored(const Json& object);

}  // namespace fleetadm::addon
