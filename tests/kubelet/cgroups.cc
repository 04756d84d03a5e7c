#include "tests/kubelet/cgroups.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "tests/kubelet/orphans.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kCgroupPrefix = "fleetadm-node-";
const fs::path kCgroups = "/sys/fs/cgroup";

bool is_unified() { return access((kCgroups / "cgroup.controllers").c_str(), R_OK) == 0; }

std::vector<fs::path> hierarchies() {
  if (is_unified()) return {kCgroups};
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kCgroups, error)) {
    if (!entry.is_symlink() && access((entry.path() / "cgroup.procs").c_str(), R_OK) == 0) found.push_back(entry.path());
  }
  return found;
}

/// With the cgroups below it. False where one still has processes.
bool remove_cgroup(const fs::path& folder) {
  std::error_code error;
  bool removed = true;
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) below.push_back(entry.path());
  }
  for (const fs::path& one : below) removed = remove_cgroup(one) && removed;
  return (rmdir(folder.c_str()) == 0 || errno == ENOENT) && removed;
}

int number_in(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void remove_orphans() {
  for (const fs::path& hierarchy : hierarchies())
    for (const fs::path& orphan : orphans_in(hierarchy, kCgroupPrefix)) remove_cgroup(orphan);
}

/// "name:path" of each line of /proc/PID/cgroup: where the process is in the memory hierarchy.
std::string memory_cgroup_of(const std::string& cgroups) {
  std::size_t begin = 0;
  while (begin < cgroups.size()) {
    const std::size_t end = std::min(cgroups.find('\n', begin), cgroups.size());
    const std::string line = cgroups.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_unified() ? controllers.empty() : controllers == "memory")
      return (is_unified() ? kCgroups : kCgroups / "memory").string() + line.substr(second + 1);
  }
  return {};
}

/// A line of /proc/PID/status ("VmRSS:"), which is in KiB.
std::int64_t bytes_of(const fs::path& process, std::string_view field) {
  std::ifstream status(process / "status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with(field)) continue;
    return std::int64_t{number_in(std::string_view(line).substr(line.find_first_of("0123456789")))} * 1024;
  }
  return 0;
}

}  // namespace

Result<NodeCgroup> NodeCgroup::make(std::string_view name) {
  remove_orphans();
  NodeCgroup made(name_with_owner(kCgroupPrefix, name));
  const auto all = hierarchies();
  if (all.empty()) return fail(Category::kUnavailable, "no cgroups at /sys/fs/cgroup", "mount them");
  for (const fs::path& hierarchy : all) {
    if (mkdir((hierarchy / made.name()).c_str(), 0755) == 0) continue;
    return fail(Category::kUnavailable, "cannot make a cgroup in " + hierarchy.string() + ": " + std::strerror(errno),
                "run the tests as root, on a machine that lets them make cgroups");
  }
  return made;
}

NodeCgroup::NodeCgroup(NodeCgroup&& other) noexcept : name_(std::exchange(other.name_, {})) {}

NodeCgroup::~NodeCgroup() {
  if (name_.empty()) return;
  for (const fs::path& hierarchy : hierarchies())
    eventually([&] { return remove_cgroup(hierarchy / name_); }, std::chrono::seconds(5));  // the last processes are ending
}

std::vector<ContainerProcess> processes_of_pod(std::string_view uid) {
  std::vector<ContainerProcess> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const int pid = number_in(entry.path().filename().string());
    if (pid <= 0) continue;
    const std::string cgroups = read_file(entry.path() / "cgroup");
    if (cgroups.find(uid) == std::string::npos) continue;
    const std::string program = std::string(read_file(entry.path() / "cmdline").c_str());
    if (program.empty() || program == "/workload") continue;
    found.push_back({.pid = pid,
                     .program = program,
                     .resident = bytes_of(entry.path(), "VmRSS:"),
                     .anonymous = bytes_of(entry.path(), "RssAnon:"),
                     .memory_cgroup = memory_cgroup_of(cgroups)});
  }
  return found;
}

Status forbid_more_memory(const std::string& memory_cgroup) {
  const bool unified = is_unified();
  const fs::path used = fs::path(memory_cgroup) / (unified ? "memory.current" : "memory.usage_in_bytes");
  const fs::path limit = fs::path(memory_cgroup) / (unified ? "memory.max" : "memory.limit_in_bytes");
  std::int64_t bytes = 0;
  if (!(std::ifstream(used) >> bytes)) return fail(Category::kUnavailable, "cannot read " + used.string());
  std::ofstream out(limit);
  if (!(out << bytes << std::flush)) return fail(Category::kUnavailable, "cannot write " + limit.string());
  return {};
}

}  // namespace fleetadm::testkit
