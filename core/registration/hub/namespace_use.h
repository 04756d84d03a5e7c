// Whether a namespace that was there before a cluster of its name is in use. The agent of an accepted cluster gets rights in the
// namespace, and whoever may write works there can run anything on the cluster.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/rest/client.h"

namespace fleetadm::registration::hub {

/// What the namespace has ("Pod web-0"), the first that is found; empty: nothing. Looked for: pods, services, workloads, claims,
/// ConfigMaps, ServiceAccounts, roles and bindings, without what Kubernetes gives to every namespace and what has a cluster's
/// label. Secrets are not looked for: the hub may not list them.
Result<std::string> namespace_use(const kube::Client& client, std::string_view ns);

/// What Kubernetes and its distributions put into every namespace.
bool in_every_namespace(const kube::Resource& type, const Json& object);

}  // namespace fleetadm::registration::hub
