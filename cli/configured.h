// The user's settings (commands/framework/settings.h), applied to one command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/argv/normalise.h"
#include "commands/framework/command.h"
#include "commands/framework/settings.h"

namespace fleetadm::cli {

/// The settings of this process: environment and file.
Result<commands::Settings> load_settings();

/// Whether a command needs the settings: help and the config commands do not, which a broken file must not stop.
bool takes_settings(const commands::Command& command);

/// Where in `words` the first word stands that may be a command's; words.size() where there is none.
std::size_t first_plain_word(const std::vector<std::string>& words, const FlagList& globals);
/// Whether a word begins a built-in command.
bool is_builtin_word(const commands::Registry& registry, std::string_view word);

/// The words with an alias replaced by what it stands for. Built-in commands come first. kUsage where the alias names no
/// built-in command.
Result<std::vector<std::string>> expand_alias(const commands::Registry& registry, const commands::Settings& settings,
                                              std::vector<std::string> words, const FlagList& globals);

/// The registry with a row for each alias that can be used, for completion.
commands::Registry with_aliases(const commands::Registry& registry, const commands::Settings& settings);

/// Sets the flags that were not given; not those of programs (hub run, agent run), which run for others than the user. `flags`:
/// all of the command's; `globals`: those that every command takes.
Status apply_settings(const commands::Settings& settings, const commands::Command& command, const NormalArgv& argv,
                      const FlagList& flags, const commands::FlagSet& globals);

/// Makes the policy on exec credential plugins that of this process.
void apply_plugin_policy(const commands::Settings& settings);

/// Names the setting that a context comes from, where an error is about that context.
Error with_origin_of_context(Error error, const commands::Settings& settings, const commands::GlobalOptions& globals);

}  // namespace fleetadm::cli
