// The placement verbs: create, apply, describe, delete, explain, simulate (get is a row of commands/get).
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_placement(Registry& registry);

void register_placement_create(Registry& registry);
void register_placement_apply(Registry& registry);
void register_placement_describe(Registry& registry);
void register_placement_delete(Registry& registry);
void register_placement_explain(Registry& registry);
void register_placement_simulate(Registry& registry);

}  // namespace fleetadm::commands
