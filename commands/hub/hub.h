// `fleetadm hub …`: the hub program.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_hub(Registry& registry);

}  // namespace fleetadm::commands
