// Log lines of one program of several that share a process.
#pragma once

#include <string>

namespace fleetadm::log {

/// While it lives, the log lines of this thread are appended to a file instead of stderr. An empty name changes nothing. The file
/// is opened for each line: thousands may have one.
class ToFile {
 public:
  explicit ToFile(const std::string& file);
  ~ToFile();
  ToFile(const ToFile&) = delete;
  ToFile& operator=(const ToFile&) = delete;

 private:
  const std::string* outer_;
};

}  // namespace fleetadm::log
