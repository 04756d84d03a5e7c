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
inline constexpr std::string_view kProxyServerSecret = "proxy-server";
inline constexpr std::string_view kAgentServerSecret = "agent-server";
inline constexpr std::string_view kProxySignerSecret = "cluster-proxy-signer";  // ca.crt, ca.key
/// Of the tunnels' certificates, and the one common name that all of them have.
inline constexpr std::string_view kProxyAgentSigner = "open-cluster-management.io/proxy-agent-signer";
inline constexpr std::string_view kProxyAgentUser = "open-cluster-management:cluster-proxy:proxy-agent";
/// Where the gateway remembers which cluster each of them was issued to.
inline constexpr std::string_view kTunnelCertificatesConfigMap = "fleetadm-tunnel-certificates";
inline constexpr std::string_view kProxyServerPods = "proxy.open-cluster-management.io/component-name=proxy-server";  // labels
inline constexpr int kFrontPort = 8090;  // of konnectivity's clients
inline constexpr int kProxyAgentPort = 8091;
inline constexpr int kUserServerPort = 9092;

/// On the clusters, in the add-on's namespace.
inline constexpr std::string_view kClusterProxyCaSecret = "cluster-proxy-ca";  // ca.crt
inline constexpr std::string_view kClusterProxyTunnelSecret =
    "cluster-proxy-open-cluster-management.io-proxy-agent-signer-client-cert";
inline constexpr std::string_view kClusterProxyServingSecret = "cluster-proxy-service-proxy-server-certificates";
inline constexpr std::string_view kClusterProxyHubSecret = "cluster-proxy-hub-kubeconfig";
inline constexpr std::string_view kClusterProxyAccount = "cluster-proxy";  // ServiceAccount

}  // namespace fleetadm::api
