// `fleetadm cluster`: labels, taints and the acceptance of clusters that are in the fleet.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_cluster(Registry& registry);

// One function a file, each adds its row.
void register_cluster_label(Registry& registry);
void register_cluster_taint(Registry& registry);
void register_cluster_deny(Registry& registry);

}  // namespace fleetadm::commands
