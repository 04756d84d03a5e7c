// An image's archive as a file, which is there as a whole or not at all.
#pragma once

#include <string>

#include "core/image/archive.h"
#include "kubeclient/base/owned_fd.h"

namespace fleetadm::commands {

/// A new file that replaces `path` when it is complete. Until then it stands beside it, and goes with its owner.
class ArchiveFile {
 public:
  static Result<ArchiveFile> create(const std::string& path);
  ArchiveFile(ArchiveFile&& other) noexcept = default;
  ArchiveFile& operator=(ArchiveFile&&) = delete;
  ~ArchiveFile();

  Status write(std::string_view data);
  /// Last: it is the file now.
  Status commit();

  std::uint64_t size() const { return size_; }
  /// Where it is until then.
  const std::string& unfinished_path() const { return unfinished_; }

 private:
  ArchiveFile(OwnedFd file, std::string path, std::string unfinished)
      : file_(std::move(file)), path_(std::move(path)), unfinished_(std::move(unfinished)) {}

  OwnedFd file_;
  std::string path_;
  std::string unfinished_;
  std::uint64_t size_ = 0;
};

}  // namespace fleetadm::commands
