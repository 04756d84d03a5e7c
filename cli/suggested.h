// Commands that a hint or a note suggests, completed so that they run as they are printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::cli {

/// A word as a shell takes it: quoted where it has to be.
std::string shell_word(std::string_view word);

/// Each "fleetadm COMMAND" in `text` with the --kubeconfig, --context, -n and --as of this call behind the command's name, unless
/// the text gives them. Commands for another side than `target` (a join, suggested on the hub) are left as they are: their
/// connection is another.
std::string complete_suggestions(std::string text, const commands::Registry& registry, const commands::GlobalOptions& globals,
                                 commands::Target target);

/// The command line as it was typed; empty where it holds a secret, which is not repeated.
std::string typed_command(const std::vector<std::string>& words);

}  // namespace fleetadm::cli
