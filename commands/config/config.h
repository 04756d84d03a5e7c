// `fleetadm config get|set|unset|view`: the user's settings.
#pragma once

#include <functional>
#include <string_view>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// `is_builtin`: whether a word is the first one of a command, which no alias may be.
void register_config(Registry& registry, std::function<bool(std::string_view)> is_builtin);

/// fleetadm-configuration(7).
Topic configuration_topic();

}  // namespace fleetadm::commands
