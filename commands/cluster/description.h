// What the hub knows of one cluster, read at once.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// The report of `cluster describe` (kind ClusterDescription). What may not be read, or is not served, is left out and noted.
/// kNotFound: no such cluster.
Result<Json> describe_cluster(const kube::Client& hub, const std::string& name, Instant now, std::vector<std::string>& notes);

}  // namespace fleetadm::commands
