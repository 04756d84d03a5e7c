#include "cli/plugins.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <unistd.h>

#include "cli/argv/lookup.h"
#include "cli/configured.h"
#include "commands/plugin/search.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/process.h"

namespace fleetadm::cli {
namespace {

using commands::FoundPlugin;
using commands::Registry;

constexpr auto kPluginCompletionTimeout = std::chrono::seconds(2);

/// How many of the first words name groups of built-in commands.
std::size_t built_in_groups(const Registry& registry, const std::vector<std::string>& words) {
  std::string path;
  std::size_t count = 0;
  for (const std::string& word : words) {
    path += (path.empty() ? "" : " ") + word;
    if (!is_group(registry, path)) break;
    ++count;
  }
  return count;
}

/// The plugin for words that stand for no built-in command.
std::optional<FoundPlugin> plugin_of(const Registry& registry, const std::vector<std::string>& words) {
  const std::size_t groups = built_in_groups(registry, words);
  return commands::find_plugin(words, groups + 1, kube::environment("PATH"));
}

/// What cobra's directive (a sum of flags) is in our protocol.
std::string directive_of(int flags) {
  constexpr int kNoSpace = 2;
  constexpr int kNoFiles = 4;
  constexpr int kFolders = 16;
  if ((flags & kFolders) != 0) return ":folders\n";
  if ((flags & kNoSpace) != 0) return ":nospace\n";
  return (flags & kNoFiles) != 0 ? ":none\n" : ":files\n";
}

/// A completion's output with its last line translated. Lines that a shell or terminal could stumble over are left out.
std::string translated(const std::string& output) {
  std::string out;
  int flags = 0;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    at = end + 1;
    if (line.size() > 1 && line.front() == ':' &&
        std::from_chars(line.data() + 1, line.data() + line.size(), flags).ptr == line.data() + line.size())
      continue;
    const bool plain =
        std::none_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; });
    if (plain && !line.empty() && line.front() != ':') out += line + "\n";
  }
  // Files are offered where the plugin has nothing to say: they and its own words cannot be mixed.
  return out + (out.empty() ? directive_of(flags) : flags == 0 ? ":none\n" : directive_of(flags));
}

}  // namespace

bool hides_plugin(const Registry& registry, const std::string& command) {
  std::string path;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find(' ', at), command.size());
    path = command.substr(0, end);
    at = end + 1;
    if (!is_group(registry, path)) return registry.find(path) != nullptr;
  }
  return true;  // a group answers with its help
}

std::optional<Error> become_plugin(const Registry& registry, const std::vector<std::string>& words, const FlagList& globals) {
  const std::size_t first = first_plain_word(words, globals);
  const std::vector<std::string> named(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
  const auto plugin = plugin_of(registry, named);
  if (!plugin) return std::nullopt;
  if (first > 0) {
    return fail(Category::kUsage, "flags cannot stand before the name of a plugin: " + words.front(),
                "put them after it, where the plugin reads them")
        .value();
  }
  std::vector<std::string> texts{plugin->path};
  texts.insert(texts.end(), words.begin() + static_cast<std::ptrdiff_t>(plugin->words), words.end());
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // what is ignored here would be ignored there
  ::execv(plugin->path.c_str(), argv.data());
  const int error = errno;
  std::signal(SIGPIPE, SIG_IGN);
  return fail(Category::kUsage, "cannot run the plugin " + plugin->path + ": " + std::strerror(error),
              error == ENOEXEC ? "a script needs a first line such as #!/bin/sh" : "")
      .value();
}

Registry with_plugins(const Registry& registry) {
  Registry all = registry;
  const auto hidden = [&](const std::string& command) { return hides_plugin(registry, command); };
  for (const commands::Plugin& plugin : commands::list_plugins(kube::environment("PATH"), hidden)) {
    if (!plugin.problem.empty()) continue;
    commands::Command row;
    row.path = plugin.command;
    row.summary = "Plugin " + plugin.path;
    row.make = [] { return commands::Invocation{}; };
    if (all.find(row.path) == nullptr) all.add(std::move(row));
  }
  return all;
}

std::optional<std::string> complete_plugin(const Registry& registry, const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const std::vector<std::string> named(words.begin(), words.end() - 1);
  const auto plugin = plugin_of(registry, named);
  if (!plugin) return std::nullopt;
  const std::string file = plugin->path.substr(plugin->path.rfind('/') + 1);
  kube::ProcessOptions options;
  options.command = kube::find_executable("fleetadm_complete-" + file.substr(file.find('-') + 1), kube::environment("PATH"));
  if (options.command.empty()) return ":files\n";
  options.args.assign(words.begin() + static_cast<std::ptrdiff_t>(plugin->words), words.end());
  options.timeout = kPluginCompletionTimeout;
  const auto done = kube::run_process(options);
  return done && done->exit_code == 0 ? translated(done->output) : ":none\n";
}

}  // namespace fleetadm::cli
