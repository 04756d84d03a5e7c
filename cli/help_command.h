// The rows of the command line itself: help, options and what generates the documents of a release.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::cli {

void register_help(commands::Registry& registry);

}  // namespace fleetadm::cli
