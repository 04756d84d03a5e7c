#include "core/proxy/konnectivity/agent_tunnels.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <utility>
#include <vector>

namespace fleetadm::konnectivity {
namespace {

const std::string kNameless = "-";  // a server that does not say which it is

}  // namespace

AgentTunnels::AgentTunnels(boost::asio::any_io_executor executor, AgentTunnelOptions options)
    : executor_(std::move(executor)), options_(std::move(options)) {}

void AgentTunnels::start() { add(); }

void AgentTunnels::add() {
  const std::uint64_t number = ++last_;
  const std::weak_ptr<AgentTunnels> weak = weak_from_this();
  AgentTunnelOptions options = options_;
  // Each begins at another one.
  std::rotate(options.servers.begin(), options.servers.begin() + static_cast<std::ptrdiff_t>(number % options.servers.size()),
              options.servers.end());
  options.greeted = [weak, number](const ServerGreeting& server) {
    const auto self = weak.lock();
    return self && self->greeted(number, server);
  };
  options.lost = [weak, number] {
    if (const auto self = weak.lock()) self->lost(number);
  };
  auto tunnel = std::make_shared<AgentTunnel>(executor_, std::move(options));
  {
    const std::lock_guard lock(mutex_);
    members_[number].tunnel = tunnel;
  }
  tunnel->start();
}

bool AgentTunnels::greeted(std::uint64_t number, const ServerGreeting& server) {
  if (closed_) return false;
  const std::string& id = server.id.empty() ? kNameless : server.id;
  const bool has_one =
      std::ranges::any_of(members_, [&](const auto& entry) { return entry.first != number && entry.second.server == id; });
  const auto at = members_.find(number);
  const bool of_use = !has_one && at != members_.end();
  if (of_use) {
    at->second.server = id;
    ++known_;
  }
  // Not from within one of them.
  boost::asio::post(executor_, [weak = weak_from_this(), servers = server.servers] {
    if (const auto self = weak.lock()) self->fit(servers);
  });
  return of_use;
}

void AgentTunnels::lost(std::uint64_t number) {
  const auto at = members_.find(number);
  if (at != members_.end() && !std::exchange(at->second.server, {}).empty()) --known_;
}

/// As many as there are replicas; what is too much are those that have found none of their own.
void AgentTunnels::fit(std::size_t servers) {
  if (closed_) return;
  servers = std::clamp<std::size_t>(servers, 1, kMostServers);
  while (members_.size() < servers) add();
  std::vector<std::shared_ptr<AgentTunnel>> spare;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = members_.begin(); at != members_.end() && members_.size() > servers;) {
      if (!at->second.server.empty()) {
        ++at;
        continue;
      }
      spare.push_back(std::move(at->second.tunnel));
      at = members_.erase(at);
    }
  }
  for (const auto& tunnel : spare) tunnel->close();
}

void AgentTunnels::drain() {
  for (const auto& [number, member] : members_) member.tunnel->drain();
}

void AgentTunnels::close() {
  closed_ = true;
  for (const auto& [number, member] : members_) member.tunnel->close();
}

std::string AgentTunnels::failure() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, member] : members_) {
    if (std::string failure = member.tunnel->failure(); !failure.empty()) return failure;
  }
  return {};
}

}  // namespace fleetadm::konnectivity
