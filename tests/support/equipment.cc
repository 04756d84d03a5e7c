#include "tests/support/equipment.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "tests/support/source_folder.h"

namespace fleetadm::testkit {
namespace {

/// The last line that a command prints; empty where it fails.
std::string last_line_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::array<char, 4096> line{};
  std::string last;
  while (fgets(line.data(), line.size(), pipe) != nullptr) last = line.data();
  if (pclose(pipe) != 0) return {};
  while (!last.empty() && last.back() == '\n') last.pop_back();
  return last;
}

}  // namespace

Result<std::string> equipment(const char* variable, std::string_view script, std::initializer_list<const char*> programs,
                              std::string hint) {
  const char* given = *variable == '\0' ? nullptr : std::getenv(variable);
  std::string folder = given != nullptr ? given : "";
  if (folder.empty()) folder = last_line_of("'" + source_folder() + "/" + std::string(script) + "'");
  for (const char* name : programs) {
    if (folder.empty() || access((folder + "/" + name).c_str(), X_OK) != 0) {
      return fail(Category::kUnavailable, std::string(name) + " is missing",
                  "run " + std::string(script) + " (it needs Go 1.25, or pip and PyPI)" + std::move(hint));
    }
  }
  return folder;
}

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

}  // namespace fleetadm::testkit
