// Whether a hub can be joined with a bootstrap identity, before anything is written there
// (docs/reference/registration.md#several-hubs).
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

/// Whether the hub has taken its acceptance back: the cluster is not accepted, but once was. One that still waits is not denied.
bool is_denied(const Json& managed_cluster);

/// Why the hub cannot be joined by this cluster, in words, or nothing where it can: the bootstrap identity may register clusters
/// and request certificates, and the hub has not denied the cluster. An Error: the hub does not answer. `hub`: as the bootstrap
/// identity.
Result<std::string> why_not_joinable(const kube::Client& hub, std::string_view cluster);

}  // namespace fleetadm::registration::agent
