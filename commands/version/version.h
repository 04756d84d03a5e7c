// `fleetadm version`: this program's version, the hub's, and how far apart they are.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_version(Registry& registry);

}  // namespace fleetadm::commands
