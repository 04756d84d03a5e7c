// Man pages in roff.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::cli {

std::string man_page(const commands::Command& command);
/// Paths of the groups that have commands of their own ("work", "sandbox fault"), each once.
std::vector<std::string> man_groups(const commands::Registry& registry);
/// fleetadm-GROUP(1): the group's commands with a line each.
std::string man_group(const commands::Registry& registry, const std::string& group);
/// fleetadm(1): all commands, the flags that all take, exit codes, files and environment.
std::string man_root(const commands::Registry& registry);
/// fleetadm-NAME(7).
std::string man_topic(const commands::Topic& topic);
/// The page of a command or group: "fleetadm-get-clusters".
std::string man_name(const std::string& path);

}  // namespace fleetadm::cli
