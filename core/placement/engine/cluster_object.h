// A ManagedCluster as CEL sees it (docs/reference/cel.md#the-cluster-as-an-object): the fields of its type and no others,
// without the empty ones that upstream's type leaves out, quantities in canonical form, times in UTC.
#pragma once

#include "kubeclient/base/json.h"

namespace fleetadm::placement {

/// Fields of a wrong type count as absent.
Json cluster_for_cel(const Json& object);

}  // namespace fleetadm::placement
