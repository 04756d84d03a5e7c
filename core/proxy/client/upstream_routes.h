// The ways to members that upstream's cluster-proxy gives (docs/reference/cluster-proxy.md#the-ways).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/proxy/client/member_relay.h"
#include "core/proxy/client/upstream_proxy.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// Who asks at a member: an account of its own.
struct MemberCredential {
  std::string token;
  std::string ca;  // PEM, which vouches for the member's API server; empty: not known
};
using FindCredential = std::function<Result<MemberCredential>(const std::string& cluster)>;

struct UpstreamWay {
  Way way = Way::kUserServer;
  FindRoute route;
};

/// By the user server where there is one and the caller has a credential for it: it lets nobody through without. Else by
/// konnectivity's front end; then the member's certificate is verified here, by the CA of the credential or by those of the
/// ManagedCluster, for "kubernetes.default.svc". Servers without an address are reached by port-forward, which lasts as long as
/// the route. `credential` may be empty: then members are asked as nobody.
Result<UpstreamWay> upstream_way(const kube::Client& hub, const kube::RestConfig& config, const UpstreamProxy& proxy,
                                 FindCredential credential);

}  // namespace fleetadm::proxy
