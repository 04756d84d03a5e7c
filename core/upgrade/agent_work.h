// The work by which a hub changes the agent of a cluster. The agent itself applies it, so it says only what changes, and by
// server-side apply: the rest of the Deployment is as the cluster was joined with. The work can be deleted without harm to the
// agent (Orphan).
#pragma once

#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::upgrade {

inline constexpr std::string_view kAgentWork = "fleetadm-agent-upgrade";

enum class AgentObjects {
  kImage,       // the Deployment's image and how it is replaced
  kDeployment,  // the Deployment's pods as this version has them, but for their arguments
  kAll,         // these, and the rights of the agent that do not depend on how it was joined
};

/// A ManifestWork for the cluster. Where the cluster has no such Deployment the server refuses it: no agent is created.
Result<Json> agent_work(const std::string& cluster, const std::string& image, AgentObjects objects, Instant now);

}  // namespace fleetadm::upgrade
