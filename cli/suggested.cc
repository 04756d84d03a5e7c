#include "cli/suggested.h"

#include <algorithm>

#include "cli/argv/lookup.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::GlobalOptions;
using commands::Registry;

constexpr std::string_view kProgram = "fleetadm ";
constexpr std::string_view kSecretFlags[] = {"--hub-token", "--token"};

// Where the suggested command ends, as far as a text shows it: what is given up to there is not given again.
constexpr std::string_view kEnds = "\n;\"`";

bool is_word(char c) { return (c >= 'a' && c <= 'z') || c == '-'; }

// The longest command whose path begins at `at`, and where it ends.
std::pair<const Command*, std::size_t> command_in(std::string_view text, std::size_t at, const Registry& registry) {
  const Command* best = nullptr;
  std::size_t best_end = at;
  for (std::size_t end = at; end < text.size();) {
    std::size_t stop = end;
    while (stop < text.size() && is_word(text[stop])) ++stop;
    if (stop == end) break;
    const Command* found = registry.find(text.substr(at, stop - at));
    if (found != nullptr) {
      best = found;
      best_end = stop;
    } else if (!is_group(registry, text.substr(at, stop - at))) {
      break;
    }
    if (stop == text.size() || text[stop] != ' ') break;
    end = stop + 1;
  }
  return {best, best_end};
}

bool takes_namespace(std::string_view path) {
  static constexpr std::string_view kBegins[] = {"placement ",      "rollout ",         "work ", "get placements", "get rollouts",
                                                 "clusterset bind", "clusterset unbind"};
  return std::any_of(std::begin(kBegins), std::end(kBegins), [&](std::string_view begin) { return path.starts_with(begin); });
}

std::string flags_for(const Command& command, std::string_view rest, const GlobalOptions& globals) {
  const auto given = [&](std::string_view flag) { return rest.find(flag) != std::string_view::npos; };
  std::string flags;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) flags += " " + std::string(flag) + " " + shell_word(value);
  };
  if (!given("--kubeconfig")) add("--kubeconfig", globals.config.kubeconfig);
  if (!given("--context")) add("--context", globals.config.context);
  if (!given("--as ")) add("--as", globals.config.as);
  for (const std::string& group : globals.config.as_groups) add("--as-group", group);
  add("--as-uid", globals.config.as_uid);
  if (takes_namespace(command.path) && !given("-n ") && !given("--namespace")) add("-n", globals.config.ns);
  return flags;
}

}  // namespace

std::string shell_word(std::string_view word) {
  static constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string complete_suggestions(std::string text, const Registry& registry, const GlobalOptions& globals,
                                 commands::Target target) {
  if (target == commands::Target::kSilent) return text;
  for (std::size_t at = text.find(kProgram); at != std::string::npos; at = text.find(kProgram, at)) {
    at += kProgram.size();
    const auto [command, end] = command_in(text, at, registry);
    if (command == nullptr || command->target != target) continue;
    const std::string_view after = std::string_view(text).substr(end);
    const std::string_view rest = after.substr(0, after.find_first_of(kEnds));
    text.insert(end, flags_for(*command, rest, globals));
  }
  return text;
}

std::string typed_command(const std::vector<std::string>& words) {
  std::string line = "fleetadm";
  for (const std::string& word : words) {
    for (const std::string_view flag : kSecretFlags) {
      if (word == flag || word.starts_with(std::string(flag) + "=")) return {};
    }
    line += " " + shell_word(word);
  }
  return line;
}

}  // namespace fleetadm::cli
