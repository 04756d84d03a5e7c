#include "core/serve/streams/forward_session.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace fleetadm::serve {
namespace {

constexpr std::size_t kForwardPiece = 16 * 1024;  // of one tunnel in its turn

}  // namespace

ForwardSession::ForwardSession(std::unique_ptr<ForwardLink> link, FindPort find_port, std::string whose,
                               const ForwardSessionLimits& limits)
    : StreamSession(limits.times),
      link_(std::move(link)),
      find_port_(std::move(find_port)),
      whose_(std::move(whose)),
      limits_(limits) {}

void ForwardSession::begin(const WatchDescriptor& watch) {
  watch_ = watch;
  link_->begin(*this);
}

bool ForwardSession::take(std::string_view bytes) {
  if (!over() && !link_->feed(bytes, *this)) finish();
  return !over();
}

bool ForwardSession::takes() const { return waiting_ < limits_.waiting && link_->output().size() < kMaxUnsent; }

Status ForwardSession::connect(Tunnel& tunnel) {
  FLEETADM_TRY(const int here, find_port_(tunnel.port));
  tunnel.socket = OwnedFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(here));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!tunnel.socket) return ::fleetadm::fail(Category::kInternal, std::string("socket: ") + std::strerror(errno));
  if (::connect(tunnel.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 && errno != EINPROGRESS)
    return ::fleetadm::fail(Category::kUnavailable, std::strerror(errno));
  if (watch_) tunnel.watch = watch_(tunnel.socket.get());
  return {};
}

void ForwardSession::refuse(Id id, int port, const std::string& why) {
  link_->fail(id, "error forwarding port " + std::to_string(port) + " to " + whose_ +
                      ": failed to connect to localhost:" + std::to_string(port) + ": " + why);
}

void ForwardSession::on_open(Id id, int port) {
  moved(Steady::now());
  if (tunnels_.size() >= limits_.tunnels) return refuse(id, port, "too many connections at once");
  Tunnel tunnel;
  tunnel.port = port;
  if (const Status connecting = connect(tunnel); !connecting) return refuse(id, port, connecting.error().message);
  tunnels_[id] = std::move(tunnel);
}

void ForwardSession::on_data(Id id, std::string_view bytes) {
  const auto at = tunnels_.find(id);
  if (at == tunnels_.end() || at->second.client_ended) return;
  at->second.waiting += bytes;
  waiting_ += bytes.size();
  moved(Steady::now());
}

void ForwardSession::on_end(Id id) {
  if (const auto at = tunnels_.find(id); at != tunnels_.end()) at->second.client_ended = true;
}

void ForwardSession::on_gone(Id id) {
  const auto at = tunnels_.find(id);
  if (at == tunnels_.end()) return;
  waiting_ -= at->second.waiting.size();
  tunnels_.erase(at);
}

std::optional<ForwardSession::Step> ForwardSession::finish_connecting(Id id, Tunnel& tunnel) {
  if (tunnel.connected) return std::nullopt;
  pollfd ready{.fd = tunnel.socket.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) <= 0) {
    if (tunnel.watch) tunnel.watch->await_writable();
    return Step::kIdle;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(tunnel.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    refuse(id, tunnel.port, std::strerror(error));
    return Step::kDone;
  }
  tunnel.connected = true;
  return std::nullopt;
}

/// False: the pod takes nothing any more.
bool ForwardSession::push(Tunnel& tunnel) {
  if (!tunnel.waiting.empty()) {
    std::size_t taken = 0;
    if (write_some(tunnel.socket.get(), tunnel.waiting, taken) == FdResult::kGone) return false;
    tunnel.waiting.erase(0, taken);
    waiting_ -= taken;
    if (!tunnel.waiting.empty() && tunnel.watch) tunnel.watch->await_writable();
  }
  if (tunnel.waiting.empty() && tunnel.client_ended && !std::exchange(tunnel.shut, true))
    ::shutdown(tunnel.socket.get(), SHUT_WR);
  return true;
}

ForwardSession::Step ForwardSession::step(Id id, Tunnel& tunnel, std::size_t most) {
  if (const auto connecting = finish_connecting(id, tunnel)) return *connecting;
  const bool takes = push(tunnel);
  piece_.clear();
  const FdResult result = read_some(tunnel.socket.get(), piece_, std::min(kForwardPiece, most));
  if (result == FdResult::kSome) {
    link_->send(id, piece_);
    return Step::kMoved;
  }
  if (result == FdResult::kGone || !takes) {
    link_->end(id);
    return Step::kDone;
  }
  if (tunnel.watch) tunnel.watch->await_readable();
  return Step::kIdle;
}

/// Those after the one that was served last come first.
std::vector<ForwardSession::Id> ForwardSession::in_turn() const {
  std::vector<Id> ids;
  for (const auto& [id, tunnel] : tunnels_) ids.push_back(id);
  std::rotate(ids.begin(), std::upper_bound(ids.begin(), ids.end(), last_), ids.end());
  return ids;
}

void ForwardSession::advance(std::size_t most, Steady::time_point now) {
  for (bool more = true; more;) {
    more = false;
    for (const Id id : in_turn()) {
      const auto unsent = link_->output().size();
      if (unsent >= most) {
        more = false;
        break;
      }
      const Step done = step(id, tunnels_.at(id), most - unsent);
      last_ = id;
      more = more || done == Step::kMoved;
      if (done == Step::kMoved) moved(now);
      if (done == Step::kDone) on_gone(id);
    }
  }
  link_->expire(now);
  if (link_->finished()) leave(now);
}

}  // namespace fleetadm::serve
