// doctor: what keeps a hub, a managed cluster, or a cluster that is to become one, from working.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_doctor(Registry& registry);

}  // namespace fleetadm::commands
