// What a cluster is in the fleet.
#pragma once

#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Whether the server serves managed clusters.
Result<bool> is_hub(const kube::Client& client);
/// Whether an agent is, or was, on the cluster: its namespace exists.
Result<bool> has_joined(const kube::Client& client);

/// What a cluster is to a fleet.
struct Roles {
  bool hub = false;
  bool joined = false;
  bool hosting = false;  // agents of others, in the usual namespace

  bool any() const { return hub || joined || hosting; }
};
/// Once it is one of them, what the caller may not read counts as nothing.
Result<Roles> roles_of(const kube::Client& client);

}  // namespace fleetadm::join
