#include "cli/generate.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/man.h"
#include "cli/render/errors.h"
#include "commands/completion/completion.h"
#include "commands/framework/reasons.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::Registry;

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
    if (!command.hidden) files["man/" + man_name(command.path) + ".1"] = man_page(command);
  for (const std::string& group : man_groups(registry)) files["man/" + man_name(group) + ".1"] = man_group(registry, group);
  for (const commands::Topic& topic : registry.topics()) files["man/fleetadm-" + topic.name + ".7"] = man_topic(topic);
  return files;
}

std::string command_table(const Registry& registry) {
  std::string table = "| command | what it does |\n|---|---|\n";
  for (const Command& command : registry.commands())
    if (!command.hidden) table += "| `fleetadm " + command.path + "` | " + command.summary + " |\n";
  return table;
}

std::string reason_table() {
  std::string table = "| reason | exit code | cause | what to do |\n|---|---|---|---|\n";
  for (const commands::Reason& reason : commands::error_reasons()) {
    table += "| " + std::string(reason.word) + " | " + std::to_string(exit_code(reason.category)) + " | " +
             std::string(reason.cause) + " | " + std::string(reason.remedy) + " |\n";
  }
  return table;
}

std::string with_table(const std::string& text, const std::string& name, const std::string& table) {
  const std::string first = "<!-- " + name + ": begin -->\n";
  const std::size_t begin = text.find(first);
  const std::size_t end = text.find("<!-- " + name + ": end -->", begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) return text;
  return text.substr(0, begin + first.size()) + table + text.substr(end);
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
  const auto update = [&](const std::filesystem::path& file, const std::string& name, const std::string& table) -> Status {
    const std::string text = read_file(root / file);
    const std::string updated = with_table(text, name, table);
    return updated == text ? Status{} : write_file(root / file, updated);
  };
  FLEETADM_CHECK(update("README.md", "commands", command_table(registry)));
  return update("docs/machine-output.md", "reasons", reason_table());
}

}  // namespace fleetadm::cli
