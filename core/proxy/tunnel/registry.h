// Which tunnels a gateway has, by the cluster that each was authenticated for.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/proxy/hop/hop.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::proxy {

struct TunnelInfo {
  std::string cluster;
  std::string agent;
  Instant since;
  std::size_t streams = 0;  // requests that run, upgraded ones too
  std::size_t waiting = 0;  // requests that wait for one of those to end
  bool draining = false;    // takes no more requests
  bool silent = false;      // has not answered a ping in time, and is taken for dead if it stays so
};

/// A cluster's connection as the registry sees it. I/O thread only, but for info().
class Tunnel : public Hop {
 public:
  /// Any thread.
  virtual TunnelInfo info() const = 0;
  /// No more requests; those that run have their time.
  virtual void drain() = 0;
  /// Ends it with all that runs.
  virtual void cut(std::string_view why) = 0;
};

class TunnelRegistry {
 public:
  /// `tunnels`: how many the cluster has now. On the I/O thread.
  using Changed = std::function<void(const std::string& cluster, std::size_t tunnels)>;

  /// Before the first tunnel.
  void on_change(Changed changed) { changed_ = std::move(changed); }

  /// Where the cluster's requests go: its newest tunnel that takes requests. Null: it has none. I/O thread only.
  std::shared_ptr<Hop> find(std::string_view cluster) const;
  /// It has tunnels, but they take no more requests: its agent leaves, or is about to come anew. I/O thread only.
  bool is_leaving(std::string_view cluster) const;
  /// Ends the tunnels of a cluster that is no longer accepted. I/O thread only.
  void cut(std::string_view cluster, std::string_view why);

  // Any thread:
  bool has(std::string_view cluster) const;  // a tunnel that takes requests
  std::size_t size() const;
  std::vector<TunnelInfo> list() const;  // by cluster, the oldest first

  // For the server, on the I/O thread. A cluster that has kMostTunnels already loses its oldest.
  static constexpr std::size_t kMostTunnels = 16;
  void add(const std::shared_ptr<Tunnel>& tunnel);
  void remove(const Tunnel* tunnel);
  void drain_all();

 private:
  std::shared_ptr<Tunnel> pick(std::string_view cluster) const;
  std::vector<std::shared_ptr<Tunnel>> of(std::string_view cluster) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::shared_ptr<Tunnel>>, std::less<>> tunnels_;  // of each, the newest at the end
  Changed changed_;
};

}  // namespace fleetadm::proxy
