// Runs plugins: executables on PATH that add commands (commands/plugin).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/argv/normalise.h"
#include "commands/framework/command.h"

namespace fleetadm::cli {

/// Whether a plugin of that command ("foo-bar baz") would never be asked, since a built-in command answers.
bool hides_plugin(const commands::Registry& registry, const std::string& command);

/// Becomes the plugin that the words name where no built-in command does: it does not come back then. An error where there is one
/// that cannot be run; nullopt where there is none.
std::optional<Error> become_plugin(const commands::Registry& registry, const std::vector<std::string>& words,
                                   const FlagList& globals);

/// The registry with a row for the first word of each plugin, for completion.
commands::Registry with_plugins(const commands::Registry& registry);

/// The completions of a plugin's arguments, in the form of complete(), by its fleetadm_complete-NAME; nullopt where the words
/// name no plugin.
std::optional<std::string> complete_plugin(const commands::Registry& registry, const std::vector<std::string>& words);

}  // namespace fleetadm::cli
