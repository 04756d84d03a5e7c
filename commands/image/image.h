// The image verbs: the image of this program, as a file, in a registry or in a container runtime.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_image(Registry& registry);

void register_image_push(Registry& registry);
void register_image_save(Registry& registry);
void register_image_load(Registry& registry);

}  // namespace fleetadm::commands
