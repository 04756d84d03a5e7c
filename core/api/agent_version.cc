#include "core/api/agent_version.h"

#include "core/api/cluster_claim.h"

namespace fleetadm::api {

std::string agent_version(const Json& cluster) { return told_claim(cluster, kAgentVersionClaim); }

}  // namespace fleetadm::api
