// A folder of one test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fleetadm::testkit {

/// A folder that is removed with all that is in it. On /dev/shm where there is one: etcd writes a lot.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view name = "test");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file (mode 0600) and answers its path.
  std::string write(std::string_view name, std::string_view text) const;
  /// Leaves the folder where it is (to look at what failed).
  void keep() { keep_ = true; }

 private:
  std::filesystem::path path_;
  bool keep_ = false;
};

}  // namespace fleetadm::testkit
