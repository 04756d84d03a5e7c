// The agent's tunnels to all replicas of a konnectivity server, behind one address or several: a client may ask any of them, and
// each knows only its own agents.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/proxy/konnectivity/agent_tunnel.h"

namespace fleetadm::konnectivity {

/// I/O thread only, but for servers() and failure().
class AgentTunnels : public std::enable_shared_from_this<AgentTunnels> {
 public:
  static constexpr std::size_t kMostServers = 16;

  /// `greeted` and `lost` of the options are this object's own.
  AgentTunnels(boost::asio::any_io_executor executor, AgentTunnelOptions options);

  void start();
  /// No new connections, as far as the servers heed it.
  void drain();
  void close();

  /// Replicas that there is a tunnel to. Any thread.
  std::size_t servers() const { return known_; }
  /// Why there is none to some replica, or empty. Any thread.
  std::string failure() const;

 private:
  struct Member {
    std::shared_ptr<AgentTunnel> tunnel;
    std::string server;  // its ID; empty: none now
  };

  void add();
  bool greeted(std::uint64_t number, const ServerGreeting& server);
  void lost(std::uint64_t number);
  void fit(std::size_t servers);

  boost::asio::any_io_executor executor_;
  const AgentTunnelOptions options_;
  std::atomic<std::size_t> known_{0};
  std::uint64_t last_ = 0;
  bool closed_ = false;
  mutable std::mutex mutex_;  // of members_, where they change or another thread reads
  std::map<std::uint64_t, Member> members_;
};

}  // namespace fleetadm::konnectivity
