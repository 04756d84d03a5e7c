// A descriptor that is closed with its owner, and reads and writes that never wait.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace fleetadm::sandbox {

class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~OwnedFd() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

/// How a read or write that does not wait ended: kLater: nothing now; kGone: nothing ever (end, broken pipe, error).
enum class FdResult { kSome, kLater, kGone };
/// Appends up to `most` bytes.
FdResult read_some(int fd, std::string& into, std::size_t most);
/// `taken`: how many of the bytes. A reader that is gone costs no signal.
FdResult write_some(int fd, std::string_view bytes, std::size_t& taken);
/// The descriptor does not wait from now on.
bool set_nonblocking(int fd);

}  // namespace fleetadm::sandbox
