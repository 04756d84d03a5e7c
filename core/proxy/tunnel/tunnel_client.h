// The agent's end of the tunnels: a connection to each replica of the gateway, which asks its requests on it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/proxy/tunnel/tunnel_limits.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"
#include "kubeclient/config/forward_proxy.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::proxy {

struct TunnelClientOptions {
  /// Of the moment: the agent's client certificate for the hub. On the I/O thread; must not block. It is asked before each
  /// connection and every few seconds: a new one makes a new connection, to which the old one leaves its place.
  std::function<Result<pki::KeyPair>()> certificate;
  /// The gateway's requests, all bodies streamed (HttpRequest::content). On the I/O thread; must not block.
  serve::HttpHandler handle;
  /// By which proxy a host (a name, or an address without brackets) is reached; without it, and for nothing, directly.
  std::function<Result<std::optional<kube::ForwardProxy>>(const std::string& host)> proxy;
  TunnelLimits limits;
  std::chrono::milliseconds dial{5000};        // to have a TCP connection, and the proxy's
  std::chrono::milliseconds first_delay{200};  // before the next attempt, doubled with each, and shortened at random
  std::chrono::milliseconds longest_delay{10'000};
  std::chrono::milliseconds drain{30'000};  // what runs on a connection that was replaced has so much time
  std::chrono::milliseconds certificate_check{5000};
};

/// For health and for people.
struct TunnelState {
  std::string gateway;  // host:port
  bool connected = false;
  Instant since;             // when it connected, or when it was last lost; of one that never was, when it began to try
  std::size_t streams = 0;   // requests that run
  std::size_t failures = 0;  // attempts since it was last connected
  std::string error;         // of the last attempt, or why it was lost; empty while it is connected
};

/// Keeps a tunnel to each gateway of a list that may change. Any thread, but not from within its callbacks.
class TunnelClients {
 public:
  TunnelClients(serve::HttpRuntime& runtime, TunnelClientOptions options);
  /// Cuts what is left.
  ~TunnelClients();
  TunnelClients(const TunnelClients&) = delete;
  TunnelClients& operator=(const TunnelClients&) = delete;

  /// host:port of each replica, and the CA of their certificates (PEM). Those that are no longer named are drained; with another
  /// CA, each gets a new connection. kUsage: an address that is none; then nothing changes.
  Status set_gateways(const std::vector<std::string>& addresses, const std::string& ca);
  std::vector<TunnelState> states() const;  // in the order of the list
  /// Ends all tunnels when what runs on them is done, and keeps none from now on. False: they were cut, as some did not end in
  /// time.
  bool drain(std::chrono::milliseconds patience);

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;
};

}  // namespace fleetadm::proxy
