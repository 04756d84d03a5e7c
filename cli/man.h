// Man pages in roff.
#pragma once

#include <string>

#include "commands/framework/command.h"

namespace fleetadm::cli {

std::string man_page(const commands::Command& command);
/// fleetadm(1): all commands, the flags that all take, exit codes, files and environment.
std::string man_root(const commands::Registry& registry);
/// fleetadm-NAME(7).
std::string man_topic(const commands::Topic& topic);
/// "fleetadm-get-clusters"
std::string man_name(const commands::Command& command);

}  // namespace fleetadm::cli
