// The clusterset verbs: create, set, bind, unbind, delete (get is a row of commands/get).
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_clusterset(Registry& registry);

void register_clusterset_create(Registry& registry);
void register_clusterset_set(Registry& registry);
void register_clusterset_bind(Registry& registry);
void register_clusterset_unbind(Registry& registry);
void register_clusterset_delete(Registry& registry);

}  // namespace fleetadm::commands
