// Archives in the ustar format (POSIX.1-1988), as image layers and image archives are. Nothing of the machine goes into one: the
// times are zero, and owners are numbers without names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::image {

/// Takes the next bytes of something that is written from front to back.
using Sink = std::function<Status(std::string_view)>;

struct TarEntry {
  enum class Kind { kFile, kFolder, kLink };
  std::string path;  // relative, without a slash at the end
  Kind kind = Kind::kFile;
  unsigned mode = 0644;
  unsigned owner = 0;       // user and group
  std::string target = {};  // of a symbolic link
};

class TarWriter {
 public:
  explicit TarWriter(Sink sink) : sink_(std::move(sink)) {}

  /// kInvalid where a name is longer than the format allows.
  Status add(const TarEntry& entry, std::string_view content = {});
  /// Last: the end of the archive.
  Status finish();

 private:
  Sink sink_;
};

}  // namespace fleetadm::image
