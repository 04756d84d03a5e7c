#include "core/serve/http/tls_inlet.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace fleetadm::serve {
namespace {

constexpr std::size_t kAhead = std::size_t{64} * 1024;

/// One for all connections of a thread, of which few stop in the middle of what they have read.
std::unique_ptr<char[]>& spare_ahead() {
  static thread_local std::unique_ptr<char[]> bytes;
  return bytes;
}

}  // namespace

void TlsInlet::give_back() {
  begin_ = end_ = 0;
  spare_ahead() = std::move(ahead_);
}

std::ptrdiff_t TlsInlet::get(std::span<char> into) {
  if (begin_ < end_) {
    const auto size = std::min(into.size(), end_ - begin_);
    std::memcpy(into.data(), ahead_.get() + begin_, size);
    begin_ += size;
    if (begin_ == end_) give_back();
    return static_cast<std::ptrdiff_t>(size);
  }
  if (std::exchange(exhausted_, false)) {
    errno = EAGAIN;
    return -1;
  }
  ahead_ = std::move(spare_ahead());
  if (!ahead_) ahead_.reset(new char[kAhead]);
  std::array<iovec, 2> parts = {{{into.data(), into.size()}, {ahead_.get(), kAhead}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const auto got = ::recvmsg(socket_, &message, MSG_DONTWAIT);
  const int error = errno;
  const auto size = static_cast<std::size_t>(std::max<std::ptrdiff_t>(got, 0));
  exhausted_ = size > 0 && size < into.size() + kAhead;
  if (size > into.size()) {
    end_ = size - into.size();
    return static_cast<std::ptrdiff_t>(into.size());
  }
  give_back();
  errno = error;
  return got;
}

}  // namespace fleetadm::serve
