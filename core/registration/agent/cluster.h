// The ManagedCluster that an agent registers itself with (docs/reference/registration.md#the-managedcluster-of-an-agent).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

struct ClusterOptions {
  std::string name;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;  // only those under agent.open-cluster-management.io are sent
  std::vector<std::string> external_urls;          // https addresses of this cluster's API server as the hub reaches it
  std::string ca_pem;                              // of those addresses
};

/// The object that a new agent creates: not accepted, that is the hub's to say.
Json managed_cluster_object(const ClusterOptions& options);

/// Creates it where it does not exist; where it exists with another number of addresses than we were given, these are
/// updated.
Status ensure_managed_cluster(const kube::Client& hub, const ClusterOptions& options);

}  // namespace fleetadm::registration::agent
