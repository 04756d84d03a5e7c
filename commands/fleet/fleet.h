// The commands that make and unmake a fleet: init, get token, token, join, register, rejoin, accept, upgrade,
// unjoin, unregister, clean.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_fleet(Registry& registry);

// One function a file, each adds its row.
void register_init(Registry& registry);
void register_token(Registry& registry);
void register_token_create(Registry& registry);
void register_token_list(Registry& registry);
void register_token_revoke(Registry& registry);
void register_join(Registry& registry);
void register_register(Registry& registry);
void register_rejoin(Registry& registry);
void register_accept(Registry& registry);
void register_upgrade_hub(Registry& registry);
void register_upgrade_agent(Registry& registry);
void register_unjoin(Registry& registry);
void register_unregister(Registry& registry);
void register_clean(Registry& registry);

}  // namespace fleetadm::commands
