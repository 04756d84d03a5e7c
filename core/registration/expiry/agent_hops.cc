#include "core/registration/expiry/agent_hops.h"

#include "core/registration/expiry/server.h"
#include "core/registration/expiry/spoke_hops.h"

namespace fleetadm::registration::expiry {
namespace {

void add_authority(const std::string& cluster, const char* what, std::string_view kubeconfig, std::vector<Hop>& hops) {
  const auto endpoint = agent::endpoint_of(kubeconfig);
  if (!endpoint) return hops.push_back(wrong(cluster, what, endpoint.error().message, {}));
  if (endpoint->ca_pem.empty()) return;  // the system's roots are trusted
  Shown nothing;
  nothing.why_not = "this is what the agent holds";
  hops.push_back(stored_authority(cluster, what, endpoint->ca_pem, nothing, {}));
}

}  // namespace

std::vector<Hop> credential_hops(const agent::HubSecret& secret) {
  std::vector<Hop> hops;
  if (secret.get(agent::kCertificateKey).empty()) return hops;
  hops.push_back(agent_certificate(secret, {}));
  add_authority(secret.get(agent::kClusterNameKey), kAuthorityOfAgent, secret.get(agent::kKubeconfigKey), hops);
  return hops;
}

std::vector<Hop> bootstrap_hops(const std::string& cluster, std::string_view kubeconfig) {
  std::vector<Hop> hops;
  add_authority(cluster, kAuthorityOfBootstrap, kubeconfig, hops);
  if (const auto credential = bootstrap_credential(kubeconfig)) hops.push_back(bootstrap_hop(cluster, *credential, {}));
  return hops;
}

}  // namespace fleetadm::registration::expiry
