// fleetadm gateway run.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_gateway(Registry& registry);

}  // namespace fleetadm::commands
