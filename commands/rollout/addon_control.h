// rollout pause, resume, abort and restart of addon/NAME: what people ask is noted on the declaration, and the hub obeys.
#pragma once

#include <optional>
#include <string>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// `confirm`: how long to wait until the hub has confirmed it; nullopt: not at all.
Result<Report> pause_addon(Context& context, const std::string& addon, const std::optional<Duration>& confirm);
Result<Report> resume_addon(Context& context, const std::string& addon, const std::optional<Duration>& confirm);
/// Sets what is not complete back to the configurations of the last revision that every cluster had.
Result<Report> abort_addon(Context& context, const std::string& addon);
/// Of an aborted roll-out: begins with its configurations again. `failed`: gives clusters that failed or timed out another try.
Result<Report> restart_addon(Context& context, const std::string& addon, bool failed);

}  // namespace fleetadm::commands
