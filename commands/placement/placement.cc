#include "commands/placement/placement.h"

namespace fleetadm::commands {

void register_placement(Registry& registry) {
  register_placement_create(registry);
  register_placement_apply(registry);
  register_placement_describe(registry);
  register_placement_delete(registry);
  register_placement_explain(registry);
  register_placement_simulate(registry);
}

}  // namespace fleetadm::commands
