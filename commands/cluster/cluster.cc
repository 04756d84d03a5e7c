#include "commands/cluster/cluster.h"

namespace fleetadm::commands {

void register_cluster(Registry& registry) {
  register_cluster_describe(registry);
  register_cluster_label(registry);
  register_cluster_unlabel(registry);
  register_cluster_annotate(registry);
  register_cluster_taint(registry);
  register_cluster_untaint(registry);
  register_cluster_cordon(registry);
  register_cluster_uncordon(registry);
  register_cluster_drain(registry);
  register_cluster_reconnect(registry);
  register_cluster_deny(registry);
  register_cluster_claim_set(registry);
  register_cluster_claim_delete(registry);
  register_cluster_claim_list(registry);
  register_reject(registry);
}

}  // namespace fleetadm::commands
