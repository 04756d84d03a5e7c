// The commands that distribute manifests and look after them.
#pragma once

#include "commands/framework/command.h"
#include "commands/framework/listing.h"

namespace fleetadm::commands {

void register_work(Registry& registry);

/// How a work is shown.
ListView work_view();

// One function a file, each adds its row (or rows).
void register_work_create(Registry& registry);  // create and apply
void register_work_get(Registry& registry);
void register_work_delete(Registry& registry);
void register_work_evaluate(Registry& registry);
void register_work_status(Registry& registry);
void register_work_describe(Registry& registry);
void register_work_diff(Registry& registry);

}  // namespace fleetadm::commands
