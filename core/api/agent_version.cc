#include "core/api/agent_version.h"

namespace fleetadm::api {

std::string agent_version(const Json& cluster) {
  for (const Json& claim : list_at(cluster, {"status", "clusterClaims"})) {
    if (str(claim, {"name"}) == kAgentVersionClaim) return str(claim, {"value"});
  }
  return {};
}

}  // namespace fleetadm::api
