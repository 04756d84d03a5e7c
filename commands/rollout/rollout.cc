#include "commands/rollout/rollout.h"

namespace fleetadm::commands {

void register_rollout(Registry& registry) { register_rollout_simulate(registry); }

}  // namespace fleetadm::commands
