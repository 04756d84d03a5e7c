#include "cli/argv/lookup.h"

#include <algorithm>

#include "cli/argv/suggest.h"

namespace fleetadm::cli {
namespace {

using commands::Arity;
using commands::Command;
using commands::Flag;
using commands::Registry;

bool starts_with_words(std::string_view path, std::string_view group) {
  return group.empty() || (path.size() > group.size() && path.substr(0, group.size()) == group && path[group.size()] == ' ');
}

// Whether a command that is a group, too, is meant: one of its flags is given.
bool is_chosen(const Command& command, const std::vector<std::string>& words) {
  if (command.chosen_by.empty()) return true;
  for (const std::string& word : words) {
    if (word == "--") return false;
    for (const std::string& flag : command.chosen_by) {
      const bool letter = flag.size() == 2;
      if (word == flag || word.starts_with(letter ? flag : flag + "=")) return true;
    }
  }
  return false;
}

std::string joined_path(const std::string& path, const std::string& word) { return path.empty() ? word : path + " " + word; }

}  // namespace

bool takes_next_word(const std::string& word, const FlagList& globals) {
  if (word.find('=') != std::string::npos || word == "-h" || word == "--help") return false;
  if (word[1] == '-') {
    const Flag* flag = flag_named(globals, std::string_view(word).substr(2));
    return flag == nullptr || flag->arity == Arity::kValue;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Flag* flag = flag_lettered(globals, word[i]);
    if (flag == nullptr || flag->arity == Arity::kValue) return i + 1 == word.size();
  }
  return false;
}

bool is_group(const Registry& registry, std::string_view path) {
  for (const Command& command : registry.commands()) {
    if (starts_with_words(command.path, path)) return true;
    for (const std::string& alias : command.aliases)
      if (starts_with_words(alias, path)) return true;
  }
  return false;
}

std::vector<std::string> words_under(const Registry& registry, std::string_view path) {
  std::vector<std::string> words;
  for (const Command& command : registry.commands()) {
    const auto in_group = [&](const std::string& name) { return starts_with_words(name, path); };
    const std::string* name = in_group(command.path) ? &command.path : nullptr;
    if (name == nullptr && !path.empty()) {
      const auto alias = std::find_if(command.aliases.begin(), command.aliases.end(), in_group);
      if (alias != command.aliases.end()) name = &*alias;
    }
    if (command.hidden || name == nullptr) continue;
    std::string_view rest = *name;
    rest.remove_prefix(path.empty() ? 0 : path.size() + 1);
    std::string word(rest.substr(0, rest.find(' ')));
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

Result<Found> find_command(const Registry& registry, const std::vector<std::string>& words, const FlagList& globals) {
  Found found;
  bool open = true;  // the next plain word may still be a command's
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      found.rest.insert(found.rest.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
      break;
    }
    if (word.size() > 1 && word[0] == '-') {
      found.rest.push_back(word);
      // Once a command is chosen its own flags decide, but it may still be the beginning of a longer path.
      if (open && takes_next_word(word, globals) && at + 1 < words.size()) found.rest.push_back(words[++at]);
      continue;
    }
    if (open) {
      const std::string longer = joined_path(found.path, word);
      const Command* command = registry.find(longer);
      if (command != nullptr || is_group(registry, longer)) {
        found.path = longer;
        found.command = command != nullptr && is_chosen(*command, words) ? command : nullptr;
        open = is_group(registry, longer);
        continue;
      }
      if (found.command == nullptr) {
        std::string hint;
        for (const std::string& near : nearest(word, words_under(registry, found.path)))
          hint += (hint.empty() ? "did you mean \"" : ", \"") + joined_path(found.path, near) + "\"";
        if (!hint.empty()) hint += "?";
        const std::string place = found.path.empty() ? "" : " for \"fleetadm " + found.path + "\"";
        const std::string help = found.path.empty() ? "fleetadm --help" : "fleetadm " + found.path + " --help";
        if (hint.empty()) hint = "\"" + help + "\" lists the commands";
        if (const Command* chosen = registry.find(found.path))
          hint += "; with " + chosen->chosen_by.front() + " it is: " + chosen->summary;
        return fail(Category::kUsage, "unknown command \"" + word + "\"" + place, hint);
      }
      open = false;
    }
    found.rest.push_back(word);
  }
  return found;
}

}  // namespace fleetadm::cli
