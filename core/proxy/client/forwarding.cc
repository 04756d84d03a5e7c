#include "core/proxy/client/forwarding.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace fleetadm::proxy {
namespace {

constexpr int kPollMs = 100;
constexpr std::size_t kPiece = std::size_t{64} * 1024;
constexpr std::size_t kMaxHeld = 1U << 20U;  // of all connections: then nothing more is read from the pod

Result<int> port_number(std::string_view text, bool or_free, const std::string& whole) {
  int port = 0;
  if (text.empty() && or_free) return 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error == std::errc{} && end == text.data() + text.size() && port > 0 && port <= 0xffff) return port;
  return fail(Category::kUsage, "\"" + whole + "\" does not name ports",
              "write LOCAL:REMOTE, PORT, or :REMOTE for a free local port");
}

Result<OwnedFd> listen_on_loopback(ForwardedPort& port) {
  OwnedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port.local));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.get(), raw, length) != 0 || ::listen(socket.get(), 64) != 0 || ::getsockname(socket.get(), raw, &length) != 0)
    return fail(Category::kUnavailable,
                "cannot listen on 127.0.0.1:" + std::to_string(port.local) + ": " +
                    std::error_code(errno, std::generic_category()).message(),
                "use :" + std::to_string(port.remote) + " for a free port");
  port.local = ntohs(address.sin_port);
  return socket;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Result<ForwardedPort> parse_forwarded_port(const std::string& text) {
  const std::size_t colon = text.find(':');
  ForwardedPort port;
  FLEETADM_TRY(port.remote, port_number(std::string_view(text).substr(colon == std::string::npos ? 0 : colon + 1), false, text));
  port.local = port.remote;
  if (colon == std::string::npos) return port;
  FLEETADM_TRY(port.local, port_number(std::string_view(text).substr(0, colon), true, text));
  return port;
}

Result<Forwarding> Forwarding::listen(std::vector<ForwardedPort>& ports) {
  Forwarding forwarding;
  for (ForwardedPort& port : ports) {
    FLEETADM_TRY(OwnedFd socket, listen_on_loopback(port));
    forwarding.listeners_.push_back({std::move(socket), port.remote});
  }
  return forwarding;
}

Status Forwarding::accept_on(const Listener& listener, kube::ForwardStream& stream) {
  OwnedFd socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return {};
  FLEETADM_TRY(const kube::ForwardStream::Id id, stream.connect(listener.remote));
  links_[id].socket = std::move(socket);
  return {};
}

bool Forwarding::is_full() const {
  std::size_t held = 0;
  for (const auto& [id, link] : links_) held += link.down.size();
  return held >= kMaxHeld;
}

Status Forwarding::take_events(kube::ForwardStream& stream, const std::function<void(const std::string&)>& warn) {
  while (!is_full()) {
    FLEETADM_TRY(const auto event, stream.next(Duration::zero()));
    if (!event) return {};
    const auto at = links_.find(event->id);
    if (at == links_.end()) continue;
    switch (event->kind) {
      case kube::ForwardStream::Event::Kind::kData: at->second.down += event->bytes; break;
      case kube::ForwardStream::Event::Kind::kEnd: at->second.down_ended = true; break;
      case kube::ForwardStream::Event::Kind::kFailed:
        warn("a connection failed: " + event->bytes);
        links_.erase(at);
        break;
    }
  }
  return {};
}

Result<bool> Forwarding::move_one(kube::ForwardStream& stream, kube::ForwardStream::Id id, Link& link) {
  while (!link.down.empty()) {
    const ssize_t count = ::send(link.socket.get(), link.down.data(), link.down.size(), MSG_NOSIGNAL);
    if (count < 0 && !would_block()) return false;
    if (count <= 0) break;
    link.down.erase(0, static_cast<std::size_t>(count));
  }
  if (link.down_ended && link.down.empty()) ::shutdown(link.socket.get(), SHUT_WR);
  if (!link.up_ended && link.up.empty()) {
    std::array<char, kPiece> buffer;  // NOLINT: filled by recv
    const ssize_t count = ::recv(link.socket.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && !would_block()) return false;
    if (count > 0) link.up.assign(buffer.data(), static_cast<std::size_t>(count));
    link.up_ended = count == 0;
  }
  if (!link.up.empty()) {
    const auto sent = stream.send(id, link.up, Duration::zero());
    // Only this connection is over: whether the port-forward is, next() tells.
    if (!sent) return false;
    link.up.erase(0, *sent);
  }
  if (link.up_ended && link.up.empty() && !std::exchange(link.up_told, true)) {
    if (!stream.end(id)) return false;
  }
  return !(link.up_told && link.down_ended && link.down.empty());
}

Status Forwarding::move(kube::ForwardStream& stream) {
  for (auto at = links_.begin(); at != links_.end();) {
    FLEETADM_TRY(const bool goes_on, move_one(stream, at->first, at->second));
    if (goes_on) {
      ++at;
      continue;
    }
    const bool whole = at->second.up_told && at->second.down_ended;
    // What is over by itself is known there.
    if (!whole) [[maybe_unused]]
      const Status ignored = stream.abandon(at->first);
    at = links_.erase(at);
  }
  return {};
}

void Forwarding::wait(const kube::ForwardStream& stream) const {
  std::vector<pollfd> all;
  const bool full = is_full();
  all.push_back({stream.descriptor(), static_cast<short>(full ? 0 : POLLIN), 0});
  for (const Listener& listener : listeners_) all.push_back({listener.socket.get(), POLLIN, 0});
  for (const auto& [id, link] : links_) {
    int events = 0;
    if (!link.up_ended && link.up.empty()) events |= POLLIN;
    if (!link.down.empty()) events |= POLLOUT;
    if (!link.up.empty()) all.front().events |= POLLOUT;
    if (events != 0) all.push_back({link.socket.get(), static_cast<short>(events), 0});
  }
  ::poll(all.data(), all.size(), kPollMs);
}

Status Forwarding::run(kube::ForwardStream& stream, const std::stop_token& stop,
                       const std::function<void(const std::string&)>& warn) {
  while (!stop.stop_requested()) {
    for (const Listener& listener : listeners_) {
      if (const Status accepted = accept_on(listener, stream); !accepted) warn(accepted.error().message);
    }
    FLEETADM_CHECK(take_events(stream, warn));
    FLEETADM_CHECK(move(stream));
    wait(stream);
  }
  return {};
}

}  // namespace fleetadm::proxy
