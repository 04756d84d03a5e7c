// Plugins: executables on PATH named fleetadm-NAME, as kubectl has them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::commands {

struct Plugin {
  std::string command;  // "foo-bar baz" for the file fleetadm-foo_bar-baz
  std::string path;
  std::string problem;  // why it is never run; empty: it is
};

struct FoundPlugin {
  std::string path;
  std::size_t words = 0;  // how many of the words name it; the others are its arguments
};

/// The executable that the longest run of the first words names, at least `min` of them; the first folder of `path` (as $PATH)
/// that has it counts. Only absolute folders are searched: a file of the working directory is no command. A '-' in a word is a
/// '_' in the file's name.
std::optional<FoundPlugin> find_plugin(const std::vector<std::string>& words, std::size_t min, std::string_view path);

/// All plugins in the folders of `path`, in their order. `is_builtin`: whether "foo-bar baz" is a command, or begins with one
/// that is no group, so that the plugin is never asked.
std::vector<Plugin> list_plugins(std::string_view path, const std::function<bool(const std::string&)>& is_builtin);

}  // namespace fleetadm::commands
