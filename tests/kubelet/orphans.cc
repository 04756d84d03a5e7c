#include "tests/kubelet/orphans.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <system_error>
#include <unistd.h>

namespace fleetadm::testkit {
namespace fs = std::filesystem;

std::string name_with_owner(std::string_view prefix, std::string_view name) {
  return std::string(prefix) + std::to_string(getpid()) + "-" + std::string(name);
}

std::vector<fs::path> orphans_in(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    int owner = 0;
    const char* end = name.data() + name.size();
    const auto [after, wrong] = std::from_chars(name.data() + prefix.size(), end, owner);
    const bool owned = wrong == std::errc() && after != end && *after == '-' && owner > 0;
    if (owned && kill(owner, 0) != 0 && errno == ESRCH) found.push_back(entry.path());
  }
  return found;
}

}  // namespace fleetadm::testkit
