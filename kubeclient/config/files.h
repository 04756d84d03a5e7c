// Small files: bounded reads, and writes that are whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::kube {

/// The content of a file of at most `limit` bytes. kNotFound where there is none, else kUsage; the message names the file.
Result<std::string> read_file(const std::string& path, std::size_t limit = 16U << 20U);

/// Replaces a file by way of a temporary one in the same folder. Missing folders are made. An existing file keeps its mode
/// and, where we may set it, its owner; a new one has mode 0600. A symbolic link is followed.
Status write_file(const std::string& path, std::string_view content);

/// FILE.lock, as kubectl takes it (O_EXCL); removed when destroyed.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  ~FileLock();
  /// Waits a moment for another holder; kConflict where the lock stays taken.
  static Result<FileLock> take(const std::string& path);

 private:
  std::string lock_path_;
};

/// `path` against `folder` where it is relative; empty stays empty.
std::string absolute_path(const std::string& path, const std::string& folder);
std::string folder_of(const std::string& path);
/// The value of an environment variable, empty where unset.
std::string environment(const char* name);

}  // namespace fleetadm::kube
