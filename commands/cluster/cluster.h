// `fleetadm cluster`: labels, taints and the acceptance of clusters that are in the fleet; and `reject` of those that ask to be.
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
void register_cluster_reconnect(Registry& registry);
void register_cluster_deny(Registry& registry);
void register_cluster_claim_set(Registry& registry);
void register_cluster_claim_delete(Registry& registry);
void register_cluster_claim_list(Registry& registry);
void register_reject(Registry& registry);

}  // namespace fleetadm::commands
