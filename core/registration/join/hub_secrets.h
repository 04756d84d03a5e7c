// The bootstrap kubeconfigs of an agent as Secrets: one for each of its hubs, in the order of preference.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/install/install.h"
#include "core/registration/join/preflight.h"

namespace fleetadm::join {

/// The kubeconfig to join the hub with, as text: a secret.
std::string bootstrap_kubeconfig(const HubEndpoint& endpoint, const kube::RestConfig& hub);

/// An Opaque Secret with a kubeconfig.
Json kubeconfig_secret(std::string_view ns, std::string_view name, std::string_view kubeconfig);

/// The Secrets' names: `first`, `first`-2, `first`-3, …
std::vector<std::string> hub_secret_names(std::string_view first, std::size_t count);

/// Adds the arguments of an agent with further hubs, whose Secrets are named so (the first one included). Nothing with one name.
void add_hub_args(const std::vector<std::string>& names, std::vector<std::string>& args);

/// Deletes Secrets of further hubs that an agent has no more: those after the first `kept`, as far as they are of `part`.
Result<std::vector<install::Change>> drop_further_hubs(const kube::Client& client, std::string_view ns, std::string_view first,
                                                       std::size_t kept, std::string_view part);

}  // namespace fleetadm::join
