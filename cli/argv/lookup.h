// Which command an argv names. Only the chosen command's flags are ever made.
#pragma once

#include <string>
#include <vector>

#include "cli/argv/normalise.h"
#include "commands/framework/command.h"

namespace fleetadm::cli {

struct Found {
  const commands::Command* command = nullptr;  // null: only a group (or nothing) was named
  std::string path;                            // the words of the command or group as they were written
  std::vector<std::string> rest;               // all other words: flags and arguments
};

/// The longest path (or alias) that the words before "--" begin with. Flags may stand before and between the command's words;
/// `globals` tells which of them take the next word. A path that is a group and a command is the command where a flag says so
/// (Command::chosen_by). Category::kUsage with "did you mean" for an unknown command.
Result<Found> find_command(const commands::Registry& registry, const std::vector<std::string>& words, const FlagList& globals);

/// Whether a flag word before or between a command's words takes the next word. As in kubectl, an unknown one does.
bool takes_next_word(const std::string& word, const FlagList& globals);

/// True where at least one command's path or alias starts with these words.
bool is_group(const commands::Registry& registry, std::string_view path);
/// The next words of visible commands under a group ("" for the top), in the registry's order, without repeats. A command that is
/// in the group by an alias alone ("placement get" is "get placements") is there by the first one.
std::vector<std::string> words_under(const commands::Registry& registry, std::string_view path);

}  // namespace fleetadm::cli
