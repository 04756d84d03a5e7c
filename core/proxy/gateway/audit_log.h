// Where audit lines go: a file or the standard output, written by a thread of its own, so that a slow disk holds up no request.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "kubeclient/base/owned_fd.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

class AuditLog {
 public:
  /// Appends to the file, which is made for its owner alone; "-": the standard output. kUsage where it cannot be opened.
  static Result<std::unique_ptr<AuditLog>> open(const std::string& path);
  /// Writes what is left.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// Never waits, and wakes the writer once for many lines. Where kMostWaiting bytes have not been written yet, the line is
  /// dropped, and the log says how many were. Any thread.
  void write(std::string line);

  static constexpr std::size_t kMostWaiting = std::size_t{16} * 1024 * 1024;

 private:
  explicit AuditLog(OwnedFd file);
  void run();

  OwnedFd file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;  // lines
  std::size_t dropped_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace fleetadm::proxy
