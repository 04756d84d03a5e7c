// `fleetadm plugin list`: the plugins on PATH.
#pragma once

#include <functional>
#include <string>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// `is_builtin`: as for list_plugins().
void register_plugin(Registry& registry, std::function<bool(const std::string&)> is_builtin);

}  // namespace fleetadm::commands
