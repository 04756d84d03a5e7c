#include "commands/plugin/search.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "kubeclient/config/process.h"

namespace fleetadm::commands {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPluginPrefix = "fleetadm-";

std::string file_name_of(const std::vector<std::string>& words, std::size_t count) {
  std::string name(kPluginPrefix);
  for (std::size_t i = 0; i < count; ++i) {
    std::string word = words[i];
    std::replace(word.begin(), word.end(), '-', '_');
    name += (i == 0 ? "" : "-") + word;
  }
  return name;
}

std::string command_of_file(std::string_view file_name) {
  std::string command(file_name.substr(kPluginPrefix.size()));
  std::replace(command.begin(), command.end(), '-', ' ');
  std::replace(command.begin(), command.end(), '_', '-');
  return command;
}

}  // namespace

std::optional<FoundPlugin> find_plugin(const std::vector<std::string>& words, std::size_t min, std::string_view path) {
  const auto names = static_cast<std::size_t>(
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.empty() || word.starts_with('-'); }) -
      words.begin());
  for (std::size_t count = names; count >= std::max<std::size_t>(min, 1); --count) {
    std::string file = kube::find_executable(file_name_of(words, count), path);
    if (!file.empty()) return FoundPlugin{std::move(file), count};
  }
  return std::nullopt;
}

std::vector<Plugin> list_plugins(std::string_view path, const std::function<bool(const std::string&)>& is_builtin) {
  std::vector<Plugin> plugins;
  std::map<std::string, std::string> first;  // command → path
  for (const std::string& folder : kube::absolute_folders(path)) {
    std::set<std::string> names;
    std::error_code unreadable;  // a folder that cannot be read, or is not there, has no plugins
    for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
      std::error_code ignored;
      std::string name = entry.path().filename().string();
      if (name.starts_with(kPluginPrefix) && name.size() > kPluginPrefix.size() && !entry.is_directory(ignored))
        names.insert(std::move(name));
    }
    for (const std::string& name : names) {
      Plugin plugin{command_of_file(name), (fs::path(folder) / name).string(), ""};
      if (kube::find_executable(name, folder).empty()) {
        plugin.problem = "not executable";
      } else if (is_builtin(plugin.command)) {
        plugin.problem = "hidden by a built-in command";
      } else if (const auto [other, added] = first.emplace(plugin.command, plugin.path); !added) {
        plugin.problem = "shadowed by " + other->second;
      }
      plugins.push_back(std::move(plugin));
    }
  }
  return plugins;
}

}  // namespace fleetadm::commands
