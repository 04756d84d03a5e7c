// What join installs on a cluster.
#pragma once

#include <string>
#include <vector>

#include "core/registration/join/preflight.h"

namespace fleetadm::join {

struct AgentInstall {
  std::string cluster_name;
  std::string image = "fleetadm:" FLEETADM_VERSION;
  std::vector<std::string> args = {};  // further ones of `agent run`
  bool network_policy = false;
};

/// The objects of the agent in the order in which they are applied. `hub`: of check_hub().
Result<std::vector<Json>> agent_manifests(const AgentInstall& agent, const HubEndpoint& endpoint, const kube::RestConfig& hub);

/// A cluster is in one fleet under one name. Joining again with the same ones repairs; kConflict: anything else must unjoin
/// first.
Status check_not_elsewhere(const kube::Client& spoke, const std::string& cluster, const std::string& server);

}  // namespace fleetadm::join
