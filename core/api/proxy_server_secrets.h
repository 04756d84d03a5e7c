// What a hub has for the proxy server of the add-on cluster-proxy, and where (docs/reference/cluster-proxy.md#names).
#pragma once

#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::api {

/// Names of Secrets in one namespace.
struct ProxyServerSecrets {
  std::string ns;
  std::string ca;      // ca.crt
  std::string front;   // its certificate for clients
  std::string agents;  // and for agents
  std::string client;  // the one certificate that clients have
  std::string signer;  // ca.crt and ca.key, by which agents' certificates are signed
};

/// As a ManagedProxyConfiguration names them, or by default.
ProxyServerSecrets proxy_server_secrets(const Json& configuration);

}  // namespace fleetadm::api
