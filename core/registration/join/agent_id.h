// The ID by which a person recognizes the agent of a cluster when they accept it.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct AgentId {
  std::string id;   // empty: the agent will choose one
  std::string arg;  // for `agent run`; empty: it needs none
};

/// What an installed agent has stored, or is told by its arguments; a fresh one where there is none yet and `fresh` is asked for.
/// `args`: further arguments that the agent is installed with; one that sets the ID decides. An agent that is installed without
/// such an argument does not get one, so that joining again changes nothing.
Result<AgentId> choose_agent_id(const kube::Client& spoke, const std::vector<std::string>& args, bool fresh);

/// Likewise of a hosted member: `args` are those of this command, `stored_args` those of the member's Secret.
Result<AgentId> choose_hosted_agent_id(const kube::Client& hosting, const std::string& ns, const std::string& cluster,
                                       const std::vector<std::string>& args, const std::vector<std::string>& stored_args,
                                       bool fresh);

}  // namespace fleetadm::join
