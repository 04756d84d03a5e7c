// Joining: from a bootstrap kubeconfig to a stored client certificate, and from there to an accepted cluster
// (docs/reference/registration.md#joining).
#pragma once

#include <stop_token>

#include "core/agent/runtime.h"
#include "core/registration/agent/issuance.h"

namespace fleetadm::agent {

/// Registers the cluster and requests a certificate with the bootstrap identity, then waits for it as long as that takes. True:
/// the credential is stored. False: `stop`, or the bootstrap kubeconfig changed: look again. Errors: the hub or the spoke failed.
Result<bool> join_hub(Runtime& runtime, const registration::agent::Identity& identity, const Bootstrap& bootstrap,
                      std::stop_token stop);

/// The ManagedCluster of this agent, created where the bootstrap identity may; refusals (401, 403) are only logged, as an
/// administrator may create it too.
Status register_cluster(Runtime& runtime, const registration::agent::Identity& identity, const Bootstrap& bootstrap);

}  // namespace fleetadm::agent
