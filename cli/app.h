// One run of the program: words in, exit code out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::cli {

/// Parses, runs, prints. Never throws. `program`: the name that it is called by, main's argv[0].
int run(const std::vector<std::string>& words, std::string_view program = "fleetadm");

/// Every row of the program: the commands' own and the cli's (help, options).
commands::Registry full_registry();

}  // namespace fleetadm::cli
