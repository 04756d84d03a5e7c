// in-pod: a command of fleetadm that runs in a pod of a cluster.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_in_pod(Registry& registry);

}  // namespace fleetadm::commands
