// The verbs of add-ons.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_addon_config_get(Registry& registry);
void register_addon_config_set(Registry& registry);  // set, unset
void register_addon_create(Registry& registry);
void register_addon_describe(Registry& registry);
void register_addon_get(Registry& registry);
void register_addon_enable(Registry& registry);
void register_addon_disable(Registry& registry);
void register_addon_install(Registry& registry);  // install, uninstall
void register_addon_render(Registry& registry);
void register_addon_status(Registry& registry);
void register_addon_simulate(Registry& registry);

}  // namespace fleetadm::commands
