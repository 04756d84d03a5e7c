#include "commands/rollout/rollout.h"

namespace fleetadm::commands {

void register_rollout(Registry& registry) {
  register_rollout_list(registry);
  register_rollout_start(registry);
  register_rollout_plan(registry);
  register_rollout_run(registry);
  register_rollout_status(registry);
  register_rollout_control(registry);
  register_rollout_history(registry);
  register_rollout_simulate(registry);
  register_addon_upgrade(registry);
}

}  // namespace fleetadm::commands
