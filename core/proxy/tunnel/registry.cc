#include "core/proxy/tunnel/registry.h"

#include <algorithm>
#include <ranges>

namespace fleetadm::proxy {

std::shared_ptr<Tunnel> TunnelRegistry::pick(std::string_view cluster) const {
  const std::lock_guard lock(mutex_);
  const auto at = tunnels_.find(cluster);
  if (at == tunnels_.end()) return nullptr;
  for (const auto& tunnel : std::views::reverse(at->second)) {
    const TunnelInfo info = tunnel->info();
    if (!info.draining && !info.silent) return tunnel;
  }
  return nullptr;
}

std::shared_ptr<Hop> TunnelRegistry::find(std::string_view cluster) const { return pick(cluster); }

bool TunnelRegistry::is_leaving(std::string_view cluster) const {
  const auto tunnels = of(cluster);
  return !tunnels.empty() && std::ranges::all_of(tunnels, [](const auto& tunnel) { return tunnel->info().draining; });
}

bool TunnelRegistry::has(std::string_view cluster) const { return pick(cluster) != nullptr; }

std::vector<std::shared_ptr<Tunnel>> TunnelRegistry::of(std::string_view cluster) const {
  const std::lock_guard lock(mutex_);
  const auto at = tunnels_.find(cluster);
  return at == tunnels_.end() ? std::vector<std::shared_ptr<Tunnel>>() : at->second;
}

void TunnelRegistry::cut(std::string_view cluster, std::string_view why) {
  for (const auto& tunnel : of(cluster)) tunnel->cut(why);
}

std::size_t TunnelRegistry::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [cluster, tunnels] : tunnels_) count += tunnels.size();
  return count;
}

std::vector<TunnelInfo> TunnelRegistry::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<TunnelInfo> out;
  for (const auto& [cluster, tunnels] : tunnels_) {
    for (const auto& tunnel : tunnels) out.push_back(tunnel->info());
  }
  return out;
}

void TunnelRegistry::add(const std::shared_ptr<Tunnel>& tunnel) {
  const std::string cluster = tunnel->info().cluster;
  std::shared_ptr<Tunnel> oldest;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    auto& tunnels = tunnels_[cluster];
    if (tunnels.size() >= kMostTunnels) oldest = tunnels.front();
    tunnels.push_back(tunnel);
    count = tunnels.size();
  }
  if (oldest) oldest->cut("the cluster has more tunnels than it may have");
  if (changed_) changed_(cluster, count);
}

void TunnelRegistry::remove(const Tunnel* tunnel) {
  const std::string cluster = tunnel->info().cluster;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = tunnels_.find(cluster);
    if (at == tunnels_.end()) return;
    if (std::erase_if(at->second, [&](const auto& each) { return each.get() == tunnel; }) == 0) return;
    count = at->second.size();
    if (count == 0) tunnels_.erase(at);
  }
  if (changed_) changed_(cluster, count);
}

void TunnelRegistry::drain_all() {
  std::vector<std::shared_ptr<Tunnel>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [cluster, tunnels] : tunnels_) all.insert(all.end(), tunnels.begin(), tunnels.end());
  }
  for (const auto& tunnel : all) tunnel->drain();
}

}  // namespace fleetadm::proxy
