#include "core/proxy/konnectivity/agent_tunnel.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <utility>

#include "core/proxy/konnectivity/server_dial.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/log.h"

namespace fleetadm::konnectivity {
namespace {

constexpr auto kSteady = std::chrono::seconds(10);  // a connection that lived so long was a good one

/// A random UUID: a process's name for itself, which servers tell agents apart by.
std::string new_agent_id() {
  std::random_device device;
  std::array<char, 37> text{};
  const unsigned a = device();
  const unsigned b = device();
  const unsigned c = device();
  const unsigned d = device();
  const int size = std::snprintf(text.data(), text.size(), "%08x-%04x-4%03x-%04x-%04x%08x", a, b >> 16U, b & 0xFFFU,
                                 0x8000U | ((c >> 16U) & 0x3FFFU), c & 0xFFFFU, d);
  return {text.data(), static_cast<std::size_t>(std::clamp(size, 0, 36))};
}

}  // namespace

AgentTunnel::AgentTunnel(boost::asio::any_io_executor executor, AgentTunnelOptions options)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      agent_id_(new_agent_id()),
      timer_(executor_),
      delay_(options_.first_delay),
      random_(std::random_device{}()) {}

std::string AgentTunnel::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void AgentTunnel::connect() {
  if (closed_) return;
  const HostPort& at = options_.servers[attempts_++ % options_.servers.size()];
  server_ = join_host_port(at.host, at.port);
  auto certificate = options_.certificate();
  if (!certificate) return ended(certificate.error().wrap("the certificate for the konnectivity server"));
  Result<std::optional<kube::ForwardProxy>> proxy = std::nullopt;
  if (options_.proxy) proxy = options_.proxy(at.host);
  if (!proxy) return ended(proxy.error());
  ServerOptions server;
  server.proxy = std::move(*proxy);
  server.host = at.host;
  server.port = at.port;
  server.server_name = options_.server_name;
  server.ca = options_.ca;
  server.certificate = std::move(*certificate);
  const std::weak_ptr<AgentTunnel> weak = weak_from_this();
  const auto lost = [weak](const Error& why) {
    if (const auto self = weak.lock()) self->ended(why);
  };
  auto speak = [weak, lost](serve::ProtocolHost host) -> std::shared_ptr<serve::Protocol> {
    const auto self = weak.lock();
    if (!self || self->closed_) return nullptr;
    self->opened_ = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(self->mutex_);
      self->failure_.clear();
    }
    return std::make_shared<AgentStream>(
        std::move(host), self->executor_, self->server_, self->agent_id_, self->options_.identifiers, self->options_.accept,
        [weak](const ServerGreeting& greeting) {
          if (const auto here = weak.lock()) here->greeted(greeting);
        },
        lost);
  };
  dial_server(executor_, server, std::move(speak), lost, [weak](const std::shared_ptr<serve::Connection>& connection) {
    const auto self = weak.lock();
    if (self && !self->closed_) self->connection_ = connection;
  });
}

void AgentTunnel::greeted(const ServerGreeting& server) {
  if (closed_ || !options_.greeted || options_.greeted(server)) return;
  is_spare_ = true;
  boost::asio::post(executor_, [connection = connection_] {
    if (const auto here = connection.lock()) here->close();
  });
}

void AgentTunnel::ended(const Error& why) {
  if (closed_) return;
  const bool is_spare = std::exchange(is_spare_, false);
  {
    const std::lock_guard lock(mutex_);
    failure_ = is_spare ? std::string() : why.message;
  }
  if (!is_spare) {
    log::warn("konnectivity", "no tunnel to " + server_ + ": " + why.message);
  }
  if (options_.lost) options_.lost();
  if (opened_ && std::chrono::steady_clock::now() - *opened_ >= kSteady) delay_ = options_.first_delay;
  opened_.reset();
  // Between half and all of the delay: those that were cut together do not come together.
  const auto half = delay_.count() / 2;
  const auto wait = std::chrono::milliseconds(
      half + std::uniform_int_distribution<std::int64_t>(0, std::max<std::int64_t>(delay_.count() - half, 0))(random_));
  delay_ = std::min(delay_ * 2, options_.longest_delay);
  timer_.expires_after(wait);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->connect();
  });
}

void AgentTunnel::drain() {
  if (const auto connection = connection_.lock()) connection->drain();
}

void AgentTunnel::close() {
  closed_ = true;
  timer_.cancel();
  if (const auto connection = connection_.lock()) connection->close();
}

}  // namespace fleetadm::konnectivity
