#include "cli/kubectl_plugin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/argv/lookup.h"

namespace fleetadm::cli {
namespace {

constexpr std::string_view kCommandBegin = "fleetadm ";
constexpr std::string_view kKubectl = "kubectl ";

/// Whether a command begins there, or a word that stands for one in usage texts.
bool names_command(std::string_view text, const commands::Registry& registry) {
  static constexpr std::array<std::string_view, 2> kPlaceholders = {"COMMAND", "--help"};
  const std::string_view word = text.substr(0, text.find_first_of(" \n\"`;|)"));
  return std::find(kPlaceholders.begin(), kPlaceholders.end(), word) != kPlaceholders.end() || registry.find(word) != nullptr ||
         is_group(registry, word);
}

}  // namespace

CalledAs called_as(std::string_view program) {
  program.remove_prefix(program.find_last_of('/') + 1);  // npos + 1 is 0
  if (program == "kubectl-fleetadm") return CalledAs::kKubectlPlugin;
  return program == "kubectl_complete-fleetadm" ? CalledAs::kKubectlCompletion : CalledAs::kProgram;
}

std::string with_kubectl(std::string text, const commands::Registry& registry) {
  for (std::size_t at = text.find(kCommandBegin); at != std::string::npos; at = text.find(kCommandBegin, at)) {
    const std::string_view before = std::string_view(text).substr(0, at);
    const bool begins_word = before.empty() || std::string_view(" \n\"`(").find(before.back()) != std::string_view::npos;
    if (begins_word && !before.ends_with(kKubectl) &&
        names_command(std::string_view(text).substr(at + kCommandBegin.size()), registry)) {
      text.insert(at, kKubectl);
      at += kKubectl.size();
    }
    at += kCommandBegin.size();
  }
  return text;
}

std::string completion_for_kubectl(const std::string& completion) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDirectives = {
      {{":files\n", ":0\n"}, {":nospace\n", ":6\n"}, {":folders\n", ":16\n"}, {":none\n", ":4\n"}}};
  for (const auto& [ours, flags] : kDirectives) {
    if (completion.ends_with(ours)) return completion.substr(0, completion.size() - ours.size()).append(flags);
  }
  return completion + ":4\n";
}

}  // namespace fleetadm::cli
