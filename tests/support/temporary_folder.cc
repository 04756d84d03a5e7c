#include "tests/support/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace fleetadm::testkit {
namespace fs = std::filesystem;

namespace {

fs::path temporary_root() {
  struct statvfs space {};
  constexpr std::uint64_t kEnough = std::uint64_t{2} << 30;
  if (access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &space) == 0 && space.f_bavail * space.f_frsize >= kEnough) {
    return "/dev/shm";
  }
  return fs::temp_directory_path();
}

}  // namespace

TemporaryFolder::TemporaryFolder(std::string_view name) {
  std::string pattern = (temporary_root() / ("fleetadm-" + std::string(name) + "-XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr) pattern = fs::temp_directory_path().string() + "/fleetadm-no-folder";
  path_ = pattern;
  const char* keep = std::getenv("FLEETADM_KEEP");
  keep_ = keep != nullptr && *keep != '\0';
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(std::string_view name, std::string_view text) const {
  const fs::path file = path_ / name;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  chmod(file.c_str(), S_IRUSR | S_IWUSR);  // before there is anything in it
  out << text;
  return file.string();
}

}  // namespace fleetadm::testkit
