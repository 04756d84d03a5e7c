#include "kubeclient/config/files.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/owned_fd.h"

namespace fleetadm::kube {
namespace {

// Several writers take turns, and each waits for its disk.
constexpr auto kLockPatience = std::chrono::seconds(10);

std::string reason(int code) { return std::error_code(code, std::generic_category()).message(); }

tl::unexpected<Error> file_error(std::string_view verb, const std::string& path, int code) {
  return fail(code == ENOENT ? Category::kNotFound : Category::kUsage, std::string(verb) + " " + path + ": " + reason(code));
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string followed(const std::string& path) {
  std::error_code ignored;
  const auto target = std::filesystem::canonical(path, ignored);
  return ignored ? path : target.string();
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return file_error("reading", path, errno);
  std::string content;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("reading", path, errno);
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
    if (content.size() > limit)
      return fail(Category::kUsage, "reading " + path + ": larger than " + std::to_string(limit) + " bytes");
  }
}

Status write_file(const std::string& path, std::string_view content) {
  const std::string target = followed(path);
  std::error_code made;
  std::filesystem::create_directories(folder_of(target), made);
  if (made) return fail(Category::kUsage, "making " + folder_of(target) + ": " + made.message());
  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  const std::string temporary = target + "." + random_suffix(8) + ".tmp";
  const int failure = [&] {
    const OwnedFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0) return errno;
    if (exists && ::fchmod(file.get(), old.st_mode & 07777U) != 0) return errno;
    // Giving the file back to its owner takes privileges that a plain user neither has nor needs.
    if (exists && old.st_uid != ::geteuid() && ::fchown(file.get(), old.st_uid, old.st_gid) != 0 && errno != EPERM) return errno;
    if (!write_all(file.get(), content) || ::fsync(file.get()) != 0) return errno;
    return ::rename(temporary.c_str(), target.c_str()) == 0 ? 0 : errno;
  }();
  if (failure == 0) return {};
  ::unlink(temporary.c_str());
  return file_error("writing", target, failure);
}

FileLock::FileLock(FileLock&& other) noexcept : lock_path_(std::exchange(other.lock_path_, {})) {}

FileLock::~FileLock() {
  if (!lock_path_.empty()) ::unlink(lock_path_.c_str());
}

Result<FileLock> FileLock::take(const std::string& path) {
  FileLock lock;
  const std::string lock_path = followed(path) + ".lock";
  std::error_code made;
  std::filesystem::create_directories(folder_of(lock_path), made);
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  while (true) {
    const OwnedFd file(::open(lock_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
    if (file.get() >= 0) break;
    if (errno != EEXIST) return file_error("locking", lock_path, errno);
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(Category::kConflict, lock_path + " exists: another program is writing " + path,
                  "if no program is, remove that file");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  lock.lock_path_ = lock_path;
  return lock;
}

std::string absolute_path(const std::string& path, const std::string& folder) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace fleetadm::kube
