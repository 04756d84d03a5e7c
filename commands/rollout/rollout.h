// The rollout verbs: what a ManifestWorkReplicaSet does to its clusters, planned, watched and steered.
#pragma once

#include "commands/framework/command.h"
#include "commands/framework/listing.h"

namespace fleetadm::commands {

void register_rollout(Registry& registry);

/// How a rollout is shown, with its namespace as first column where `all_namespaces`.
ListView rollout_view(bool all_namespaces);

// One function a file, each adds its row (or rows).
void register_rollout_list(Registry& registry);
void register_rollout_start(Registry& registry);
void register_rollout_plan(Registry& registry);
void register_rollout_run(Registry& registry);
void register_rollout_status(Registry& registry);
void register_rollout_control(Registry& registry);  // pause, resume, abort, restart
void register_rollout_history(Registry& registry);  // history, undo
void register_rollout_simulate(Registry& registry);
void register_addon_upgrade(Registry& registry);

}  // namespace fleetadm::commands
