// The flags that every command takes.
#pragma once

#include "cli/argv/normalise.h"
#include "commands/framework/command.h"
#include "commands/framework/context.h"

namespace fleetadm::cli {

/// Binds the global flags to `options`.
commands::FlagSet global_flags(commands::GlobalOptions& options);

/// A command's own flags, then the global ones it does not have itself (by name; a letter that is taken stays the command's).
/// The lists point into `own` and `globals`, which must outlive the result.
struct AllFlags {
  FlagList list;
  std::vector<commands::Flag> without_letter;  // copies of global flags without their letter
};
AllFlags all_flags(const commands::FlagSet& own, const commands::FlagSet& globals);

}  // namespace fleetadm::cli
