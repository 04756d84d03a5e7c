// Kubeconfig entries with which other programs reach a managed cluster through the gateway.
#pragma once

#include <string>

#include "commands/framework/context.h"

namespace fleetadm::commands {

/// The user of the hub's context as its kubeconfig has it (files and plugins stay what they are, and are used again when they
/// change), with what --as says. In a pod, its ServiceAccount's token file.
Result<Json> hub_user_entry(Context& context);

/// The cluster of a connection of proxy::member_config().
Json member_cluster_entry(const kube::RestConfig& member);

}  // namespace fleetadm::commands
