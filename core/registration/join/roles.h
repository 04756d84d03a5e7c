// What a cluster is in the fleet.
#pragma once

#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Whether the server serves managed clusters.
Result<bool> is_hub(const kube::Client& client);
/// Whether an agent is, or was, on the cluster: its namespace exists.
Result<bool> has_joined(const kube::Client& client);

}  // namespace fleetadm::join
