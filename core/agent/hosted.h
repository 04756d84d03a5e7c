// Members hosted by one process: every labelled Secret of a namespace holds the kubeconfig of a member, and for each there is an
// agent (docs/reference/registration.md#hosted-members). They share threads; none of them waits for another. The tokens of their
// kubeconfigs are renewed.
#pragma once

#include <stop_token>
#include <string>

#include "core/agent/agent.h"

namespace fleetadm::agent {

struct HostedOptions {
  std::string ns;      // of the Secrets of members, of bootstrap kubeconfigs and of credentials
  AgentOptions agent;  // of each member, but for its names and Secrets; its health address is the process's
};

/// Runs an agent for each member until `stop`. `home`: the cluster with the Secrets. An Error only for what no waiting repairs,
/// as for run_agent(). A Secret that cannot be used is logged and shown on /debug/agent, and costs the other members nothing.
Status run_hosted(const HostedOptions& options, const kube::RestConfig& home, const AgentParts& parts, std::stop_token stop);

}  // namespace fleetadm::agent
