#include "kubeclient/discovery/cache_file.h"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "kubeclient/base/log.h"
#include "kubeclient/base/owned_fd.h"
#include "kubeclient/discovery/parse.h"

namespace fleetadm::kube {

namespace {

constexpr auto kMaxAge = std::chrono::minutes(10);
constexpr off_t kMaxSize = 32 * 1024 * 1024;

/// FNV-1a, 64 bits: names a file, guards nothing.
std::string short_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(hash >> static_cast<unsigned>(shift)) & 15U];
  return out;
}

bool mine_alone(const struct stat& info) { return info.st_uid == ::geteuid() && (info.st_mode & 077U) == 0; }

}  // namespace

DiscoveryCacheFile::DiscoveryCacheFile(std::string folder, std::string_view server) : folder_(std::move(folder)) {
  if (!folder_.empty()) file_ = folder_ + "/discovery-" + short_hash(server) + ".json";
}

std::optional<Discovery> DiscoveryCacheFile::read() const {
  if (file_.empty()) return std::nullopt;
  const OwnedFd fd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || !mine_alone(info) || info.st_size > kMaxSize) {
    return std::nullopt;
  }
  const auto age = std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(info.st_mtime);
  if (age > kMaxAge || age < -std::chrono::minutes(1)) return std::nullopt;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const auto got = ::read(fd.get(), text.data() + have, text.size() - have);
    if (got <= 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
  }
  auto document = parse_json(text);
  if (!document) return std::nullopt;
  auto discovery = discovery_from_json(*document);
  if (!discovery) return std::nullopt;
  return std::move(*discovery);
}

void DiscoveryCacheFile::write(const Discovery& discovery) const {
  // A partial discovery is not worth keeping: the next process may see all of it.
  if (file_.empty() || !discovery.failed_groups.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(folder_).parent_path(), ignored);
  ::mkdir(folder_.c_str(), 0700);
  struct stat info {};
  if (::lstat(folder_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return;
  if ((info.st_mode & 077U) != 0 && ::chmod(folder_.c_str(), 0700) != 0) return;
  std::string temporary = file_ + ".XXXXXX";
  const OwnedFd fd(::mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (!fd) return;
  const std::string text = dump_json(to_json(discovery));
  std::size_t done = 0;
  while (done < text.size()) {
    const auto wrote = ::write(fd.get(), text.data() + done, text.size() - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  if (done != text.size() || ::rename(temporary.c_str(), file_.c_str()) != 0) {
    ::unlink(temporary.c_str());
    log::info(3, "discovery", "the cache " + file_ + " could not be written");
  }
}

void DiscoveryCacheFile::remove() const {
  if (!file_.empty()) ::unlink(file_.c_str());
}

}  // namespace fleetadm::kube
