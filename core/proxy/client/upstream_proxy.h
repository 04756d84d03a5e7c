// Where upstream's cluster-proxy is on a hub that has no gateway of ours, and what vouches for it
// (docs/reference/cluster-proxy.md#the-ways).
#pragma once

#include <optional>
#include <string>

#include "core/proxy/client/pod_forward.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// A Service of the hub.
struct HubService {
  std::string host;  // where it can be dialed; empty: only through the hub's API server, by `pods`
  int port = 0;
  PodPort pods;
  std::string server_name;  // that its certificate has to be valid for: the one that only the hub's own server has
};

struct UpstreamProxy {
  std::string ns;                         // of its Services and Secrets
  std::string ca;                         // PEM, which vouches for both servers
  std::optional<HubService> user_server;  // where it is deployed
  std::optional<HubService> front_end;    // konnectivity's
  std::string client_secret;              // what a client of the front end shows
};

/// Nothing where the hub has no ManagedProxyConfiguration that the caller may read. kAuth: it may not read its Secrets or
/// Services. `in_cluster`: the caller's machine resolves and reaches Services.
Result<std::optional<UpstreamProxy>> find_upstream_proxy(const kube::Client& hub, bool in_cluster);

/// The client certificate that the front end takes, of the hub's Secret.
Result<pki::KeyPair> front_end_certificate(const kube::Client& hub, const UpstreamProxy& proxy);

}  // namespace fleetadm::proxy
