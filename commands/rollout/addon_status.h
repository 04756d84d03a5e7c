// rollout status addon/NAME: the rollout of an add-on's configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "commands/rollout/view.h"
#include "core/addon/rules/rollout_standing.h"

namespace fleetadm::commands {

inline constexpr const char* kAddonPrefix = "addon/";

/// NAME of "addon/NAME"; nullopt: a ManifestWorkReplicaSet is meant. One of a namespace "addon" is reached with -n.
std::optional<std::string> addon_of_rollout(const std::string& text);
/// kUsage where what follows "addon/" is no name.
Status check_rollout_name(const std::vector<std::string>& args);

/// How the rollout stands, in the words and exit codes of those of works. Pure.
RolloutState state_of(const addon::RolloutStanding& standing);

/// With `watch` it waits until nothing more happens by itself, at most `timeout` (zero: no limit; kTimeout after it).
Result<Report> addon_rollout_status(Context& context, const std::string& addon, bool watch, Duration timeout);

}  // namespace fleetadm::commands
