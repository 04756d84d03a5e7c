// The gateway's end of the tunnels: takes the connections of agents, each for the cluster that its certificate was issued to.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_limits.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::proxy {

struct TunnelServerOptions {
  std::string address = "0.0.0.0";   // to bind
  int port = 0;                      // 0: any free one
  pki::KeyPair certificate;          // the gateway's own
  std::string client_ca;             // PEM; the hub's, for clients
  std::size_t connections = 10'000;  // more are turned away
  TunnelLimits limits;
  std::function<std::time_t()> now;  // what certificates are judged by; empty: the system's clock
};

/// Whatever comes without the certificate of a cluster's agent (core/api/agent_identity.h), valid for clients, is closed with a
/// line in the log. A tunnel whose certificate expires is drained: its agent has a new one, and comes again.
class TunnelServer {
 public:
  /// The registry outlives the runtime's I/O thread. kUsage for a malformed address, kTls for a bad certificate, kUnavailable
  /// where it cannot be bound.
  static Result<std::unique_ptr<TunnelServer>> start(serve::HttpRuntime& runtime, const TunnelServerOptions& options,
                                                     std::shared_ptr<TunnelRegistry> registry);
  /// Cuts the tunnels that are left.
  ~TunnelServer();
  TunnelServer(const TunnelServer&) = delete;
  TunnelServer& operator=(const TunnelServer&) = delete;

  // Any thread:
  int port() const;
  std::string endpoint() const;
  /// For connections that come from now on; tunnels go on.
  Status renew(const pki::KeyPair& certificate, const std::string& client_ca);
  /// No more connections, and no more requests on the tunnels, which close when their last stream has ended.
  void drain();
  /// Waits until all tunnels are closed; false: some are not. Not on the I/O thread.
  bool wait_drained(std::chrono::milliseconds patience) const;

 private:
  explicit TunnelServer(std::shared_ptr<TunnelRegistry> registry) : registry_(std::move(registry)) {}

  std::shared_ptr<TunnelRegistry> registry_;
  std::unique_ptr<serve::HttpListener> listener_;
};

}  // namespace fleetadm::proxy
