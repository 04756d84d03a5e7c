#include "core/sandbox/node/listening.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace fleetadm::sandbox {
namespace {

constexpr std::string_view kListening = "0A";  // the state in the table

/// Loopback or any address, as the kernel writes them (IPv4, IPv6, and IPv4 in IPv6), bytes in the machine's order.
bool is_local(std::string_view address) {
  return address == "0100007F" || address == "00000000" || address == "00000000000000000000000000000000" ||
         address == "0000000000000000FFFF00000100007F";
}

}  // namespace

std::vector<unsigned long long> listening_inodes(std::string_view table, int port) {
  std::vector<unsigned long long> inodes;
  std::istringstream lines{std::string(table)};
  std::string line;
  std::getline(lines, line);  // the columns' names
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retries, user, timeout;
    unsigned long long inode = 0;
    if (!(words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode)) continue;
    const auto colon = local.find(':');
    if (state != kListening || colon == std::string::npos || !is_local(std::string_view(local).substr(0, colon))) continue;
    int found = 0;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), found, 16);
    if (found == port) inodes.push_back(inode);
  }
  return inodes;
}

bool process_listens(pid_t process, int port) {
  std::vector<unsigned long long> inodes;
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    const auto more = listening_inodes(text.str(), port);
    inodes.insert(inodes.end(), more.begin(), more.end());
  }
  if (inodes.empty()) return false;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(process) + "/fd", error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(at->path(), gone).string();
    const bool ours = std::any_of(inodes.begin(), inodes.end(),
                                  [&](unsigned long long inode) { return target == "socket:[" + std::to_string(inode) + "]"; });
    if (!gone && ours) return true;
  }
  return false;
}

}  // namespace fleetadm::sandbox
