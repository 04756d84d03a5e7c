// What ends on a managed cluster: its API server, the agent's certificate, what it was given to join with, and the CAs of the hub
// that it keeps, against the hub as it is now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/registration/agent/hub_secret.h"
#include "core/registration/expiry/hop.h"
#include "core/registration/expiry/server.h"
#include "core/registration/join/bootstrap_secret.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::expiry {

/// What somebody with a kubeconfig of the hub knows beside what the cluster has.
struct HubView {
  std::string server;  // where it answers that person; empty: no kubeconfig of it
  std::string proxy_url;
  std::string authorities;         // PEM, of that kubeconfig; empty: the system's roots
  std::string client_authorities;  // PEM; may be empty
  std::vector<join::BootstrapToken> tokens;
};

/// The agent's certificate as it is stored; `client_authorities`: of the hub, may be empty.
Hop agent_certificate(const agent::HubSecret& secret, std::string_view client_authorities);

/// Who a bootstrap kubeconfig joins as: data only, no program is run and no file read.
struct BootstrapCredential {
  std::string token;
  std::string certificate;  // PEM
  std::string key;          // PEM
};
Result<BootstrapCredential> bootstrap_credential(std::string_view kubeconfig);

/// The credential's end, as far as it or the hub's list of tokens tells. It never counts: it is needed to join, not afterwards.
Hop bootstrap_hop(const std::string& place, const BootstrapCredential& credential, const HubView& hub);

/// Whether the hub takes a credential of the cluster's, asked from this machine at the address and with the CA that the cluster
/// keeps. A refusal makes the hop wrong, or ended where it does not count; what cannot be asked changes nothing.
void ask_hub(Hop& hop, const agent::Endpoint& endpoint, kube::Credentials credentials, std::stop_token stop);

/// The same question with a client of the server, `who` in words. An Error: it could not be asked.
Status ask_who(const kube::Client& server, Hop& hop, const std::string& who);

/// Where an agent has its Secrets.
struct AgentSecrets {
  kube::Client cluster;
  std::string ns;
  std::string bootstrap;  // its first, where there are several
  std::string credential;
  std::string fix;  // the next step where one is not good
};
/// The agent's certificate, the hub's CA as it keeps it, and the same of its bootstrap. `name`: of the cluster.
std::vector<Hop> agent_hops(const AgentSecrets& secrets, const std::string& name, const HubView& hub, std::stop_token stop);

/// All of the cluster, in the order of the way to the hub; of one whose agent another cluster hosts, what it has itself.
std::vector<Hop> spoke_hops(const kube::Client& spoke, const kube::RestConfig& config, const Shown& shown, const HubView& hub,
                            std::stop_token stop);

}  // namespace fleetadm::registration::expiry
