// A fleet without clusters: programs that stand in for machines.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_sandbox_fleet(Registry& registry);   // up, down, and the lists
void register_sandbox_lists(Registry& registry);   // list, kubeconfig
void register_sandbox_faults(Registry& registry);  // fault add, list, clear
void register_sandbox_load(Registry& registry);
void register_sandbox_logs(Registry& registry);
void register_sandbox(Registry& registry);  // node

}  // namespace fleetadm::commands
