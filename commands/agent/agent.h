// The spoke's program: `fleetadm agent run`.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_agent(Registry& registry);
void register_agent_msa(Registry& registry);
void register_agent_scores(Registry& registry);

}  // namespace fleetadm::commands
