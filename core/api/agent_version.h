// The version of fleetadm's agent, as a cluster tells it to its hub: a claim that the agent makes itself.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::api {

inline constexpr std::string_view kAgentVersionClaim = "agentversion.fleetadm.io";

/// Of a ManagedCluster; empty where its agent does not tell one.
std::string agent_version(const Json& cluster);

}  // namespace fleetadm::api
