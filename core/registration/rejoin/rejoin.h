// A new beginning for an agent whose certificate is lost or expired, or whose hub has another CA: a new bootstrap kubeconfig in
// its Secret, with which it asks for a certificate again, as the same cluster. What it has applied stays where it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/registration/agent/hub_secret.h"
#include "core/registration/join/hosted_members.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::rejoin {

/// The agent as the cluster has it that its Secrets are on: its own, or the one that hosts it.
struct Agent {
  bool deployed = false;
  std::string ns;                             // of its Secrets
  std::map<std::string, std::string> labels;  // of a bootstrap Secret that is made
  std::string bootstrap_secret;
  std::string hub_secret;
  agent::HubSecret stored;   // of hub_secret; empty where it is lost
  std::string bootstrap;     // kubeconfig of bootstrap_secret; empty where it is lost
  std::string cluster_name;  // as it is stored, else as the Deployment says; empty: nobody knows
};
/// kConflict: it is bootstrapped by a file of its own.
Result<Agent> read_agent(const kube::Client& spoke);
/// Of a member that is hosted in the namespace.
Result<Agent> read_hosted_agent(const kube::Client& hosting, const std::string& ns, const join::HostedMember& member);

/// The hub that the agent is to join: what it used so far, with the CA that the hub has now. An agent behind a proxy keeps the
/// CAs that it had beside it, as one of them may be the proxy's. `server`: empty keeps the address.
agent::Endpoint next_endpoint(const Agent& agent, const std::string& server, const std::string& ca_pem);

/// The bootstrap kubeconfig: the endpoint and a token.
std::string bootstrap_kubeconfig(const agent::Endpoint& endpoint, const std::string& token);
/// Puts it into the agent's Secret, which is made where it is lost. True where it was made.
Result<bool> write_bootstrap(const kube::Client& home, const Agent& agent, const std::string& kubeconfig);

/// The works on the cluster that its hub (`server`, as the agent knew it) does not have any more, sorted: an agent that joins
/// again takes them for deleted, and removes them after an hour.
Result<std::vector<std::string>> works_unknown_to_hub(const kube::Client& spoke, const kube::Client& hub, const Agent& agent);

/// Where the agent stands on its way to a certificate.
struct Step {
  bool done = false;
  std::string waits_for;           // for people
  std::string approved;            // the request that was approved in this step
  std::optional<Instant> expires;  // of the certificate, where it is done
  bool issued = false;             // then: the certificate is a new one
};
/// One step: approves the request that the agent has stored among its Secrets, and no other; done once it has a certificate
/// of this hub that is not `before`, or has taken over the CA of `endpoint` where the hub still takes its certificate.
Result<Step> advance(const kube::Client& home, const kube::Client& hub, const Agent& agent, const agent::Endpoint& endpoint,
                     const std::string& before, Instant now);

}  // namespace fleetadm::registration::rejoin
