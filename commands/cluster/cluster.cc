#include "commands/cluster/cluster.h"

namespace fleetadm::commands {

void register_cluster(Registry& registry) {
  register_cluster_label(registry);
  register_cluster_taint(registry);
  register_cluster_deny(registry);
}

}  // namespace fleetadm::commands
