// The tunnels of a joined agent to the gateway of its hub, where one is published: what comes through them goes to the member's
// API server, as the caller that the gateway names (docs/reference/gateway.md).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/api/gateway.h"
#include "core/controller/controller.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/rules/impersonation.h"
#include "core/proxy/tunnel/tunnel_client.h"
#include "core/serve/http/server.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {

struct GatewayTunnelsOptions {
  kube::Client hub;
  kube::Client member;
  kube::RestConfig member_config;  // of the same
  kube::RestConfig hub_config;     // whose proxy is the tunnels', too
  /// The client certificate for the hub, of the moment. Any thread.
  std::function<Result<pki::KeyPair>()> certificate;
  /// Asks for reconcile(), on any thread.
  std::function<void()> wake;
};

/// Costs a watch of one object where no gateway is published; all of a process share one I/O thread for their tunnels.
class GatewayTunnels {
 public:
  explicit GatewayTunnels(GatewayTunnelsOptions options);
  /// Gives what runs a moment to end.
  ~GatewayTunnels();
  GatewayTunnels(const GatewayTunnels&) = delete;
  GatewayTunnels& operator=(const GatewayTunnels&) = delete;

  /// Brings the tunnels in step with what is published. One at a time.
  Result<controller::Outcome> reconcile();
  /// For /debug/agent. Any thread.
  Json describe() const;

 private:
  Result<controller::Outcome> look();
  Status connect(const api::PublishedGateway& gateway);
  Status start();
  void stop();
  void watch_grants();
  void told(std::string problem);

  const GatewayTunnelsOptions options_;
  std::shared_ptr<kube::Informer> published_;
  std::shared_ptr<kube::Informer> roles_;
  std::optional<api::PublishedGateway> connected_;  // what the tunnels were told
  std::shared_ptr<proxy::Http1Hop> api_server_;
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const proxy::Impersonation> granted_;
  std::string problem_;
  std::shared_ptr<serve::HttpRuntime> runtime_;
  std::shared_ptr<proxy::TunnelClients> clients_;
};

}  // namespace fleetadm::agent
