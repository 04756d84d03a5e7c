// Names of the add-on cluster-proxy, as upstream's programs know them (docs/reference/cluster-proxy.md#names).
#pragma once

#include <string_view>

namespace fleetadm::api {

inline constexpr std::string_view kClusterProxyAddon = "cluster-proxy";
/// The one ManagedProxyConfiguration that counts.
inline constexpr std::string_view kProxyConfigurationName = "cluster-proxy";
/// Of the hub's Services and Secrets, unless the configuration names another.
inline constexpr std::string_view kClusterProxyNamespace = "open-cluster-management-cluster-proxy";
inline constexpr std::string_view kProxyEntrypointService = "proxy-entrypoint";
inline constexpr std::string_view kProxyLoadBalancerService = "proxy-agent-entrypoint";
inline constexpr std::string_view kUserServerService = "cluster-proxy-addon-user";
inline constexpr std::string_view kProxyServerCaSecret = "proxy-server-ca";  // ca.crt
inline constexpr std::string_view kProxyClientSecret = "proxy-client";
inline constexpr int kFrontPort = 8090;  // of konnectivity's clients
inline constexpr int kUserServerPort = 9092;

}  // namespace fleetadm::api
