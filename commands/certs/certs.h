// certs: what the ways of a fleet depend on, and when it ends.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_certs(Registry& registry);

}  // namespace fleetadm::commands
