// The certificate requests of a cluster's agents as whoever decides about them sees them.
#pragma once

#include <string>
#include <vector>

#include "core/registration/hub/csr_rules.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::hub {

struct RequestView {
  std::string name;
  std::string requester;
  std::string common_name;
  std::vector<std::string> organizations;
  std::string agent;        // the agent's ID, as `join` tells it; empty: the request is none of an agent
  std::string key;          // "ECDSA P-256"
  std::string fingerprint;  // "sha256:…" of the public key
  std::string age;
};

/// What cannot be read of it is empty.
RequestView view_request(const Json& csr, Instant now);

/// "c1-1a2b (by USER, 5m ago, agent ID x7k2p, CN=…, ECDSA P-256 key sha256:…)".
std::string request_sentence(const RequestView& request);

/// All requests with the cluster's label that are not an add-on's, whoever made them and decided or not.
Result<std::vector<Json>> agent_requests(const kube::Client& hub, const std::string& cluster);

}  // namespace fleetadm::registration::hub
