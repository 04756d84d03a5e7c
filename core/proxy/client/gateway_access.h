// A client's way to the clusters of a hub: where the gateway is, and the connection to a cluster behind it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/api/gateway.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// As the hub's ConfigMap says. kNotFound: there is no gateway; kAuth: the caller may not read where it is; kUnavailable: it has
/// not been published yet.
Result<api::PublishedGateway> find_gateway(const kube::Client& hub);

/// What stands before the path at the member: "/clusters/NAME/proxy". kUsage for a name that no cluster has.
Result<std::string> member_prefix(std::string_view cluster);

/// The gateway itself, with the credentials of a connection to the hub. Paths are member_prefix() and the path at the member.
kube::RestConfig gateway_config(const kube::RestConfig& hub, const api::PublishedGateway& gateway);
/// A cluster's API server through the gateway. The namespace of the hub's context means nothing there.
Result<kube::RestConfig> member_config(const kube::RestConfig& hub, const api::PublishedGateway& gateway,
                                       std::string_view cluster);

/// Requests to `gateway` with `prefix` before their paths: a member that shares the connections of all others.
std::shared_ptr<kube::Transport> member_transport(std::shared_ptr<kube::Transport> gateway, std::string prefix);

}  // namespace fleetadm::proxy
