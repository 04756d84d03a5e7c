// One run of the program: words in, exit code out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::cli {

/// Parses, runs, prints. Never throws.
int run(const std::vector<std::string>& words);

/// Every row of the program: the commands' own and the cli's (help, options).
commands::Registry full_registry();

}  // namespace fleetadm::cli
