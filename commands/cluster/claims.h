// What the commands about the claims of a cluster share. They talk to the cluster itself, not to its hub.
#pragma once

#include <string>

#include "kubeclient/base/result.h"

namespace fleetadm::commands {

/// The hint to a cluster that does not know ClusterClaims.
template <class T>
Result<T> on_member(Result<T> result) {
  if (result || result.error().code != 404 || !result.error().hint.empty() || result.error().reason == "NotFound") return result;
  return tl::unexpected(result.error().with_hint(
      "this server does not serve ClusterClaims: name a cluster that has joined with --context, or join it with fleetadm join"));
}

}  // namespace fleetadm::commands
