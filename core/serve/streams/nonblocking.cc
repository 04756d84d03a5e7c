#include "core/serve/streams/nonblocking.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace fleetadm::serve {
namespace {

/// Holds SIGPIPE back on this thread, and takes one that came meanwhile. (A pipe has no MSG_NOSIGNAL.)
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending{};
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const int error = errno;
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

FdResult result_of_errno() { return errno == EAGAIN || errno == EWOULDBLOCK ? FdResult::kLater : FdResult::kGone; }

}  // namespace

FdResult read_some(int fd, std::string& into, std::size_t most) {
  const auto before = into.size();
  into.resize(before + most);
  ssize_t got = 0;
  do got = ::read(fd, into.data() + before, most);
  while (got < 0 && errno == EINTR);
  into.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0) return result_of_errno();
  return got == 0 ? FdResult::kGone : FdResult::kSome;
}

FdResult write_some(int fd, std::string_view bytes, std::size_t& taken) {
  const NoPipeSignal quiet;
  taken = 0;
  ssize_t sent = 0;
  do sent = ::write(fd, bytes.data(), bytes.size());
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return result_of_errno();
  taken = static_cast<std::size_t>(sent);
  return FdResult::kSome;
}

bool set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace fleetadm::serve
