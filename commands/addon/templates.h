// The verbs of add-ons that are made of templates: create, render.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_addon_create(Registry& registry);
void register_addon_render(Registry& registry);

}  // namespace fleetadm::commands
