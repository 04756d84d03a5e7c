// Who a cluster's agent is by its client certificate (docs/reference/registration.md#identity). Pure.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::api {

struct AgentIdentity {
  std::string cluster;
  std::string agent;
  bool operator==(const AgentIdentity&) const = default;
};

/// The agent of "system:open-cluster-management:<cluster>:<agent>". kInvalid: the name is not of that cluster, or not of an
/// agent.
Result<std::string> agent_of_cluster(std::string_view common_name, std::string_view cluster);

/// Of a certificate's subject: such a common name and the two organizations of an agent, in any order, and nothing else.
/// kInvalid: why not; the message may quote the subject.
Result<AgentIdentity> read_agent_identity(const pki::Subject& subject);

}  // namespace fleetadm::api
