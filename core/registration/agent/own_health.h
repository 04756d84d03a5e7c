// How the agent's own Deployment is, which its hub cannot see (docs/reference/registration.md#status).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::registration::agent {

struct OwnHealth {
  bool deployed = false;  // the Deployment exists; else nothing is told
  bool ready = false;
  std::string reason;  // of a condition
  std::string words;   // one line
};

/// The Deployment as `--wait=ready` judges it, with what keeps its pods from running, or why they were restarted. `pods`: a
/// PodList of its selector.
OwnHealth judge_own_health(const Json& deployment, const Json& pods);

/// Which Deployment, and what is kept of it in a cache.
kube::InformerOptions own_deployment(std::string_view ns);

/// Of the cached Deployment, if it is there; its pods are read. Nullopt where they cannot be: then what was told before still
/// stands.
std::optional<OwnHealth> read_own_health(const kube::Client& spoke, const std::vector<Json>& deployments);

/// Sets or removes the condition in a list of conditions.
void write_own_health(const OwnHealth& health, Instant now, Json& conditions);

}  // namespace fleetadm::registration::agent
