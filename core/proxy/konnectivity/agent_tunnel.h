// The agent's tunnel to a konnectivity server, as upstream's proxy-agent keeps it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/proxy/konnectivity/agent_stream.h"
#include "core/serve/http/connection.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/result.h"
#include "kubeclient/config/forward_proxy.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::konnectivity {

struct AgentTunnelOptions {
  std::vector<HostPort> servers;  // ports for agents, at least one, hosts without brackets; each attempt takes the next one
  std::string server_name;        // that their certificates have to be valid for; empty: the host
  std::string ca;                 // PEM, which vouches for the servers
  /// By which proxy a host (a name, or an address without brackets) is reached; without it, and for nothing, directly.
  std::function<Result<std::optional<kube::ForwardProxy>>(const std::string& host)> proxy;
  /// Of the moment. On the I/O thread; must not block. It is asked before each attempt to connect.
  std::function<Result<pki::KeyPair>()> certificate;
  std::string identifiers;  // what it announces, URL-encoded: "host=c1&host=c1.open-cluster-management-cluster-proxy"
  Accept accept;
  /// The server has taken the tunnel. False: it is of no use, as another tunnel leads there; it is cut, and tried again like one
  /// that broke. On the I/O thread.
  std::function<bool(const ServerGreeting& server)> greeted;
  std::function<void()> lost;                   // after that
  std::chrono::milliseconds first_delay{1000};  // before the next attempt, doubled with each that fails
  std::chrono::milliseconds longest_delay{10000};
};

/// Connects, and connects again when it is cut, until it is closed. I/O thread only, but for failure().
class AgentTunnel : public std::enable_shared_from_this<AgentTunnel> {
 public:
  AgentTunnel(boost::asio::any_io_executor executor, AgentTunnelOptions options);

  void start() { connect(); }
  /// No new connections, as far as the server heeds it; those that run go on.
  void drain();
  void close();
  /// Any thread. Why the last attempt failed, or its connection ended; empty while there is one, or the first is on its way, and
  /// where another tunnel leads to the server.
  std::string failure() const;

 private:
  void connect();
  void greeted(const ServerGreeting& server);
  void ended(const Error& why);

  boost::asio::any_io_executor executor_;
  const AgentTunnelOptions options_;
  const std::string agent_id_;
  boost::asio::steady_timer timer_;
  std::weak_ptr<serve::Connection> connection_;
  std::chrono::milliseconds delay_;
  std::size_t attempts_ = 0;
  std::string server_;  // of the last attempt, for people
  std::optional<std::chrono::steady_clock::time_point> opened_;
  std::minstd_rand random_;
  bool is_spare_ = false;  // another tunnel leads to the same server
  bool closed_ = false;
  mutable std::mutex mutex_;
  std::string failure_;
};

}  // namespace fleetadm::konnectivity
