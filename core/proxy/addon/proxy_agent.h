// What the hub's manager of upstream's cluster-proxy has told this cluster's agent, in the manifests that it sends
// (docs/reference/cluster-proxy.md#the-agent). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

inline constexpr std::string_view kProxyAgentDeployment = "cluster-proxy-proxy-agent";
inline constexpr int kServiceProxyPort = 7443;
inline constexpr int kApiServerPort = 443;

struct ProxyAgentSettings {
  std::string host;  // of the proxy server's port for agents
  std::string port;
  bool by_port_forward = false;    // the hub's API server leads to the proxy server; then the host says nothing
  std::string proxy_ns;            // of the proxy server's pods
  std::string identifiers;         // to be announced, URL-encoded, of this cluster alone
  std::vector<std::string> names;  // the announced names that lead to the API server
  bool serves_requests = false;    // there is a service proxy
  bool takes_hub_tokens = false;   // and it impersonates users of the hub
  int replicas = 1;                // pods that upstream's own agent has

  bool operator==(const ProxyAgentSettings&) const = default;
};

/// Of the Deployment. Identifiers of other clusters are left out. kInvalid: it says not where the proxy server is.
Result<ProxyAgentSettings> read_proxy_agent(const Json& deployment, std::string_view cluster);

}  // namespace fleetadm::proxy
