// Who a cluster's agent is by its client certificate (docs/reference/registration.md#identity), and by an identity of AWS
// (docs/reference/registration.md#other-ways-to-register). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

/// Of the group of a cluster that has an identity of AWS: EKS allows none that begins with "system:".
inline constexpr std::string_view kAwsGroupPrefix = "open-cluster-management:";

/// Whether a user that the hub's API server knows is the agent of this cluster by an identity of AWS: the user of the cluster's
/// name, in the cluster's group.
bool is_aws_agent(std::string_view user, const std::vector<std::string>& groups, std::string_view cluster);

}  // namespace fleetadm::api
