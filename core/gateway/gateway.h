// The gateway program: takes the tunnels of agents and the requests of clients, and brings the ones to the others.
// `fleetadm gateway run` and tests start it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/api/kinds.h"
#include "core/proxy/gateway/request_limits.h"
#include "core/proxy/tunnel/tunnel_limits.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::gateway {

struct GatewayOptions {
  std::string ns = std::string(api::kHubNamespace);  // of its Secret and ConfigMaps
  std::string address = ":8443";                     // to listen on for clients
  std::string tunnel_address = ":8444";              // and for agents
  /// HOST:PORT at which others reach the two. Empty: the listen address where that is a loopback one, else the Service.
  std::string public_address;
  std::string public_tunnel_address;
  /// To listen on for other replicas, and where they reach it. Empty: requests for clusters whose tunnel another has end here.
  std::string peer_address;
  bool accept_konnectivity = false;                  // in the place of cluster-proxy's proxy server
  std::string konnectivity_address = ":8090";        // then: to listen on for its clients
  std::string konnectivity_agent_address = ":8091";  // and for its agents
  std::string health_address;                        // empty: no health server
  std::string audit_log;                             // a file, or "-" for the standard output; empty: none
  proxy::RequestLimitOptions limits;
  proxy::TunnelLimits tunnel;
  Duration drain = std::chrono::seconds(30);  // what runs has so long to end, once it is told to stop
  Duration keep = std::chrono::seconds(30);   // between two looks at what it keeps on the hub
  bool in_pod = false;                        // behind the Service
  std::shared_ptr<Clock> clock = Clock::system();
};

/// Blocks until `stop`, and then until what runs has ended. An error for what no waiting repairs: an address that cannot be
/// bound, an audit log that cannot be written; else it is logged and tried again.
Status run_gateway(const kube::Client& hub, const GatewayOptions& options, const std::stop_token& stop);

}  // namespace fleetadm::gateway
