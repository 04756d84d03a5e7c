#include "cli/generate.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/man.h"
#include "commands/completion/completion.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::Registry;

constexpr std::string_view kBegin = "<!-- commands: begin -->\n";
constexpr std::string_view kEnd = "<!-- commands: end -->";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return fail(Category::kUsage, "cannot write " + path.string());
  return {};
}

}  // namespace

std::map<std::string, std::string> generated_files(const Registry& registry) {
  std::map<std::string, std::string> files;
  for (const char* shell : {"bash", "zsh", "fish"})
    files[std::string("completions/fleetadm.") + shell] = commands::completion_script(shell);
  files["man/fleetadm.1"] = man_root(registry);
  for (const Command& command : registry.commands())
    if (!command.hidden) files["man/" + man_name(command) + ".1"] = man_page(command);
  for (const commands::Topic& topic : registry.topics()) files["man/fleetadm-" + topic.name + ".7"] = man_topic(topic);
  return files;
}

std::string command_table(const Registry& registry) {
  std::string table = "| command | what it does |\n|---|---|\n";
  for (const Command& command : registry.commands())
    if (!command.hidden) table += "| `fleetadm " + command.path + "` | " + command.summary + " |\n";
  return table;
}

std::string with_command_table(const std::string& text, const Registry& registry) {
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd, begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) return text;
  return text.substr(0, begin + kBegin.size()) + command_table(registry) + text.substr(end);
}

Status write_generated(const Registry& registry, const std::string& folder) {
  const std::filesystem::path root(folder);
  const std::map<std::string, std::string> files = generated_files(registry);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root / "man", error)) {
    const std::string name = entry.path().filename().string();
    const std::string ending = entry.path().extension().string();
    if ((ending == ".1" || ending == ".7") && files.count("man/" + name) == 0) std::filesystem::remove(entry.path(), error);
  }
  for (const auto& [path, text] : files) FLEETADM_CHECK(write_file(root / path, text));
  const std::string readme = read_file(root / "README.md");
  const std::string updated = with_command_table(readme, registry);
  if (updated != readme) FLEETADM_CHECK(write_file(root / "README.md", updated));
  return {};
}

}  // namespace fleetadm::cli
