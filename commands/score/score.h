// The score verbs: AddOnPlacementScores for placements to prioritize by, from scripts and CronJobs.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_score(Registry& registry);

void register_score_set(Registry& registry);
void register_score_get(Registry& registry);

}  // namespace fleetadm::commands
