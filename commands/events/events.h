// `fleetadm events`: what controllers and agents have recorded on the hub.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_events(Registry& registry);

}  // namespace fleetadm::commands
