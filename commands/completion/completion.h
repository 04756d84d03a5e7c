// `fleetadm completion SHELL`: the script that a shell sources. The scripts ask the hidden `__complete` for everything.
#pragma once

#include <string_view>

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_completion(Registry& registry);

/// The script of "bash", "zsh" or "fish"; empty for another word.
std::string_view completion_script(std::string_view shell);

}  // namespace fleetadm::commands
