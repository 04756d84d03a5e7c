#include "commands/clusterset/clusterset.h"

namespace fleetadm::commands {

void register_clusterset(Registry& registry) {
  register_clusterset_create(registry);
  register_clusterset_set(registry);
  register_clusterset_bind(registry);
  register_clusterset_unbind(registry);
  register_clusterset_delete(registry);
}

}  // namespace fleetadm::commands
