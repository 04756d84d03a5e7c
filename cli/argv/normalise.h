// kubectl's argv rules (pflag), which CLI11 does not have: every flag becomes "--name=value", "--name" with an empty value
// becomes two words, and arguments are told apart from flags. See docs/reference/cli.md#arguments.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::cli {

using FlagList = std::vector<const commands::Flag*>;

struct NormalArgv {
  std::vector<std::string> flags;       // for the adapter: "--name=value", or "--name" and "" for an empty value
  std::vector<std::string> args;        // before "--"
  std::vector<std::string> after_dash;  // after "--", as they are
  bool dash = false;                    // a "--" was there
  bool help = false;                    // -h or --help: everything else is not looked at
};

/// Category::kUsage for an unknown flag (with the nearest known one) or a missing value.
Result<NormalArgv> normalise(const std::vector<std::string>& words, const FlagList& flags);

/// The flag of that name or alias ("--dry_run" finds "dry-run") or letter, or nullptr.
const commands::Flag* flag_named(const FlagList& flags, std::string_view name);
const commands::Flag* flag_lettered(const FlagList& flags, char letter);

}  // namespace fleetadm::cli
