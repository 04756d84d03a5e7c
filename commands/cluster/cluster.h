// `fleetadm cluster`: labels, taints and the acceptance of clusters that are in the fleet.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_cluster(Registry& registry);

// Each adds its row.
void register_cluster_describe(Registry& registry);
void register_cluster_label(Registry& registry);
void register_cluster_unlabel(Registry& registry);
void register_cluster_annotate(Registry& registry);
void register_cluster_taint(Registry& registry);
void register_cluster_untaint(Registry& registry);
void register_cluster_cordon(Registry& registry);
void register_cluster_uncordon(Registry& registry);
void register_cluster_drain(Registry& registry);
void register_cluster_deny(Registry& registry);

}  // namespace fleetadm::commands
