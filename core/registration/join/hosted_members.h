// The members that are hosted in a namespace of a cluster, as their Secrets say it
// (docs/reference/registration.md#hosted-members).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registration/join/hosted_manifests.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct HostedMember {
  std::string cluster;
  std::string secret;                          // its name
  std::string kubeconfig;                      // of the member: a secret; empty where the Secret has none
  std::vector<std::string> args;               // of `agent run`, for this member alone
  std::vector<std::string> bootstrap_secrets;  // of this member alone
};

/// By the clusters' names. What a Secret lacks is empty.
Result<std::vector<HostedMember>> hosted_members(const kube::Client& hosting, std::string_view ns);

/// Whether join has put the program for hosted members into the namespace.
Result<bool> hosts_agents(const kube::Client& hosting, std::string_view ns);

/// Where the agent of a cluster is to be looked for: "it runs on another cluster (ID/NAMESPACE), …".
std::string runs_elsewhere(const Hosting& hosting, std::string_view command);

}  // namespace fleetadm::join
