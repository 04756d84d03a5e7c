#include "core/proxy/gateway/audit_log.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "kubeclient/base/log.h"

namespace fleetadm::proxy {
namespace {

constexpr auto kGathering = std::chrono::milliseconds(10);  // what comes meanwhile is written with one call

/// False: it cannot be written to.
bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = ::write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path) {
  const int file = path == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                               : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return fail(Category::kUsage, "cannot open the audit log " + path + ": " + std::strerror(errno));
  return std::unique_ptr<AuditLog>(new AuditLog(OwnedFd(file)));
}

AuditLog::AuditLog(OwnedFd file) : file_(std::move(file)), thread_([this] { run(); }) {}

AuditLog::~AuditLog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void AuditLog::write(std::string line) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() >= kMostWaiting) {
      ++dropped_;
      return;
    }
    first = waiting_.empty();
    waiting_.append(line).push_back('\n');
  }
  if (first) changed_.notify_all();
}

void AuditLog::run() {
  bool told = false;
  while (true) {
    std::string text;
    std::size_t dropped = 0;
    bool ending = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      changed_.wait_for(lock, kGathering, [this] { return ending_; });
      text.swap(waiting_);
      dropped = std::exchange(dropped_, 0);
      ending = ending_;
    }
    if (dropped > 0) log::error("gateway", std::to_string(dropped) + " audit lines were lost, as they were not written in time");
    const bool written = write_all(file_.get(), text);
    if (!written && !told) log::error("gateway", std::string("cannot write the audit log: ") + std::strerror(errno));
    told = !written;
    if (ending) return;
  }
}

}  // namespace fleetadm::proxy
