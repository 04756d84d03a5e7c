// One command, from its parsed line to the exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/argv/normalise.h"
#include "cli/request_record.h"
#include "commands/framework/command.h"
#include "commands/framework/settings.h"

namespace fleetadm::cli {

/// What a run of the program found out before it knew its command.
struct Typed {
  const commands::Registry& registry;
  const std::vector<std::string>& words;
  const Result<commands::Settings>& settings;
  Profile& profile;
  std::string pager;  // for long texts; empty: none
  std::function<std::string(std::string)> as_typed =
      {};  // commands in hints and notes as the caller types them; null: as they are
};

/// Checks the arguments and the output format, runs the command and prints its report. `globals` are the flags as they are set.
int execute(const commands::Command& command, const NormalArgv& argv, commands::Invocation& call,
            const commands::GlobalOptions& globals, const Typed& typed);

}  // namespace fleetadm::cli
