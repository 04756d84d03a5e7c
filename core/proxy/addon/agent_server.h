// Serves what comes for a member through the tunnels of upstream's cluster-proxy, in the place of its proxy-agent and its service
// proxy (docs/reference/cluster-proxy.md#the-agent).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/proxy/addon/proxy_agent.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/konnectivity/agent_tunnels.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

struct AgentServerOptions {
  std::string cluster;
  ProxyAgentSettings settings;
  std::vector<HostPort> servers;  // where replicas of the proxy server are: one address of all, or one of each
  std::string proxy_ca;           // PEM, which vouches for them
  /// By which forward proxy a host of theirs is reached; without it, and for nothing, directly.
  std::function<Result<std::optional<kube::ForwardProxy>>(const std::string& host)> forward_proxy;
  /// The tunnels' client certificate, of the moment. On the I/O thread; must not block.
  std::function<Result<pki::KeyPair>()> certificate;
  pki::KeyPair serving;             // of the requests' server, where there is one
  kube::RestConfig member_config;   // of the account that acts at the member
  kube::Client member;              // the same
  std::optional<kube::Client> hub;  // reviews tokens of the hub, where they count
  std::shared_ptr<Clock> clock = Clock::system();
};

/// Any thread. Connections to a name of the API server lead there untouched, on its one port; those to the service proxy are
/// served here; there are no others, and nothing listens but within the tunnels.
class AgentServer {
 public:
  static Result<std::unique_ptr<AgentServer>> start(AgentServerOptions options);
  /// Gives what runs a moment to end.
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  /// Replicas of the proxy server that there is a tunnel to.
  std::size_t tunnels() const { return tunnels_->servers(); }
  std::string failure() const { return tunnels_->failure(); }

 private:
  explicit AgentServer(AgentServerOptions options) : options_(std::move(options)) {}
  Status open();
  Status serve_requests();
  Status accept(const std::string& address, boost::asio::ip::tcp::socket socket);
  void connect_api_server(boost::asio::ip::tcp::socket socket);

  const AgentServerOptions options_;
  ServerAddress api_server_;
  serve::HttpRuntime runtime_{2};  // whose workers wait for reviews
  std::stop_source ended_;
  std::shared_ptr<Http1Hop> hop_;
  std::unique_ptr<serve::HttpListener> requests_;
  std::shared_ptr<konnectivity::AgentTunnels> tunnels_;
};

}  // namespace fleetadm::proxy
