// `fleetadm get`: tables of the fleet's kinds.
#pragma once

#include "commands/framework/command.h"
#include "commands/framework/listing.h"

namespace fleetadm::commands {

void register_get(Registry& registry);
void register_get_members(Registry& registry);

// How each kind is shown; other commands show their results the same way.
/// `heartbeat` (may be empty) answers how long ago a cluster's lease was renewed, for -o wide.
ListView cluster_view(std::function<std::string(const std::string& cluster, Instant now)> heartbeat = {});
/// With the namespace as first column where `all_namespaces`; `clusters_of` (may be empty) answers the chosen clusters of
/// "namespace/name" for -o wide.
ListView placement_view(bool all_namespaces, std::function<std::string(const std::string& key)> clusters_of);
/// `bound_to` answers the namespaces that a set is bound to.
ListView cluster_set_view(std::function<std::string(const std::string& set)> bound_to);

/// "15.6Gi" for "16374392Ki"; text that is no quantity stays as it is.
std::string memory_cell(const std::string& quantity);

}  // namespace fleetadm::commands
