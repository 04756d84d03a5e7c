// The CLI11 adapter: normalised words in, flags set. CLI11's headers are slow to compile, so this is the one file with them.
#pragma once

#include <string>
#include <vector>

#include "cli/argv/normalise.h"

namespace fleetadm::cli {

/// Sets each given flag (the last value of one that is not repeated) and checks allowed values and required flags.
/// Category::kUsage names the flag.
Status set_flags(const NormalArgv& argv, const FlagList& flags);

}  // namespace fleetadm::cli
