#include "core/serve/http/tls_outlet.h"

#include <cerrno>
#include <sys/socket.h>
#include <sys/types.h>

namespace fleetadm::serve {
namespace {

constexpr std::size_t kMostHeld = std::size_t{96} * 1024;  // then they go out first

ssize_t send_now(int socket, std::string_view bytes) {
  return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// One for all connections of a thread: memory of this size costs page faults each time it is taken.
std::string& spare_room() {
  static thread_local std::string bytes;
  return bytes;
}

}  // namespace

void TlsOutlet::gather() {
  gathering_ = true;
  if (left() > 0) return;
  sent_ = 0;
  held_.clear();
  if (held_.capacity() < kMostHeld) held_.swap(spare_room());
  held_.reserve(kMostHeld);
}

TlsOutlet::Sent TlsOutlet::flush() {
  gathering_ = false;
  while (left() > 0) {
    const auto size = send_now(socket_, std::string_view(held_).substr(sent_));
    if (size >= 0) {
      sent_ += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Sent::kSome;
    } else if (errno != EINTR) {
      return Sent::kFailed;
    }
  }
  held_.clear();
  sent_ = 0;
  spare_room().swap(held_);
  held_ = {};
  return Sent::kAll;
}

std::ptrdiff_t TlsOutlet::put(std::string_view record) {
  // Behind what the socket did not take, nothing overtakes.
  if (!gathering_ && left() == 0) return send_now(socket_, record);
  if (left() > 0 && left() + record.size() > kMostHeld) {
    const bool was_gathering = gathering_;
    const auto outcome = flush();
    if (outcome != Sent::kAll) {
      gathering_ = was_gathering;
      if (outcome == Sent::kSome) errno = EAGAIN;
      return -1;
    }
    if (!was_gathering) return send_now(socket_, record);
    gather();
  }
  held_.append(record);
  return static_cast<std::ptrdiff_t>(record.size());
}

}  // namespace fleetadm::serve
