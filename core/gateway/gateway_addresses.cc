#include "core/gateway/gateway_addresses.h"

#include <algorithm>

#include "core/serve/http/listen_address.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::gateway {
namespace {

constexpr int kServicePort = 8443;  // templates/hub/gateway.yaml
constexpr int kServiceTunnelPort = 8444;

std::string reached_at(const std::string& given, const std::string& endpoint, const std::string& ns, int service_port) {
  if (!given.empty()) return given;
  if (const auto listening = serve::parse_listen_address(endpoint); listening && listening->is_loopback()) return endpoint;
  return std::string(api::kGatewayService) + "." + ns + ".svc:" + std::to_string(service_port);
}

Status check_public(const std::string& flag, const std::string& given, const std::string& listen, bool in_pod) {
  FLEETADM_TRY(const serve::ListenAddress where, serve::parse_listen_address(listen));
  if (given.empty()) {
    if (where.is_loopback() || in_pod) return {};
    return fail(Category::kUsage, flag + " is required outside of a pod unless the gateway listens on a loopback address",
                "clients and agents are told to go there");
  }
  const auto parts = split_host_port(given);
  if (!parts || parts->host.empty() || parse_port(parts->port).value_or(0) == 0)
    return fail(Category::kUsage, flag + " \"" + given + "\" is not HOST:PORT");
  return {};
}

}  // namespace

std::string client_address(const GatewayOptions& options, const std::string& endpoint) {
  return reached_at(options.public_address, endpoint, options.ns, kServicePort);
}

std::string agent_address(const GatewayOptions& options, const std::string& endpoint) {
  return reached_at(options.public_tunnel_address, endpoint, options.ns, kServiceTunnelPort);
}

std::vector<std::string> gateway_hosts(const GatewayOptions& options) {
  std::vector<std::string> hosts;
  for (const std::string& address : {options.public_address, options.public_tunnel_address}) {
    if (const auto parts = split_host_port(address); parts && !parts->host.empty()) hosts.push_back(parts->host);
  }
  for (const std::string& address : {options.address, options.tunnel_address, options.peer_address}) {
    const auto where = serve::parse_listen_address(address);
    if (where && where->host != "0.0.0.0" && where->host != "::") hosts.push_back(where->host);
  }
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

Status check_gateway(const GatewayOptions& options) {
  FLEETADM_CHECK(check_public("--public-address", options.public_address, options.address, options.in_pod));
  FLEETADM_CHECK(check_public("--public-tunnel-address", options.public_tunnel_address, options.tunnel_address, options.in_pod));
  FLEETADM_CHECK(serve::parse_listen_address(options.konnectivity_address));
  FLEETADM_CHECK(serve::parse_listen_address(options.konnectivity_agent_address));
  if (options.peer_address.empty()) return {};
  FLEETADM_TRY(const serve::ListenAddress replicas, serve::parse_listen_address(options.peer_address));
  if (replicas.host != "0.0.0.0" && replicas.host != "::") return {};
  return fail(Category::kUsage, "--peer-address must name the address at which other replicas reach this one");
}

}  // namespace fleetadm::gateway
