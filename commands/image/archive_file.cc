#include "commands/image/archive_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "kubeclient/base/encoding.h"

namespace fleetadm::commands {
namespace {

tl::unexpected<Error> unwritable(const std::string& path, int code) {
  return fail(Category::kUsage, "cannot write \"" + path + "\": " + std::error_code(code, std::generic_category()).message());
}

}  // namespace

Result<ArchiveFile> ArchiveFile::create(const std::string& path) {
  std::string unfinished = path + ".partial-" + random_suffix(8);
  OwnedFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return unwritable(path, errno);
  return ArchiveFile(std::move(file), path, std::move(unfinished));
}

ArchiveFile::~ArchiveFile() {
  if (file_) ::unlink(unfinished_.c_str());
}

Status ArchiveFile::write(std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::write(file_.get(), data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unwritable(path_, errno);
    size_ += static_cast<std::uint64_t>(count);
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status ArchiveFile::commit() {
  // What a full disk did not take is said here at the latest.
  if (::fsync(file_.get()) != 0) return unwritable(path_, errno);
  if (std::rename(unfinished_.c_str(), path_.c_str()) != 0) return unwritable(path_, errno);
  file_.close();
  return {};
}

}  // namespace fleetadm::commands
