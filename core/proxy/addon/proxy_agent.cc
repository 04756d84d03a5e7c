#include "core/proxy/addon/proxy_agent.h"

#include <algorithm>
#include <optional>

#include "core/proxy/konnectivity/identifiers.h"
#include "core/proxy/rules/percent.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::proxy {
namespace {

constexpr std::string_view kHostIdentifier = "host=";

const Json* container_of(const Json& deployment, std::string_view name) {
  for (const Json& container : list_at(deployment, {"spec", "template", "spec", "containers"})) {
    if (str(container, {"name"}) == name) return &container;
  }
  return nullptr;
}

/// The value of --flag=value, where it is given; the last one counts.
std::optional<std::string> argument(const Json* container, std::string_view flag) {
  if (container == nullptr) return std::nullopt;
  const std::string prefix = "--" + std::string(flag) + "=";
  std::optional<std::string> out;
  for (const std::string& text : string_list_at(*container, {"args"})) {
    if (text.starts_with(prefix)) out = text.substr(prefix.size());
  }
  return out;
}

void read_identifiers(std::string_view announced, std::string_view cluster, ProxyAgentSettings& settings) {
  while (!announced.empty()) {
    const std::size_t end = std::min(announced.find('&'), announced.size());
    const std::string_view one = announced.substr(0, end);
    announced.remove_prefix(std::min(end + 1, announced.size()));
    if (one.empty() || konnectivity::foreign_identifier(one, cluster)) continue;
    settings.identifiers += (settings.identifiers.empty() ? "" : "&") + std::string(one);
    const std::string host = percent_decoded(one.substr(kHostIdentifier.size())).value_or("");
    if (host != konnectivity::service_proxy_host(cluster)) settings.names.push_back(host);
  }
}

}  // namespace

Result<ProxyAgentSettings> read_proxy_agent(const Json& deployment, std::string_view cluster) {
  const Json* tunnel = container_of(deployment, "proxy-agent");
  const Json* addon = container_of(deployment, "addon-agent");
  const Json* service = container_of(deployment, "service-proxy");
  ProxyAgentSettings settings;
  settings.host = argument(tunnel, "proxy-server-host").value_or("");
  settings.port = argument(tunnel, "proxy-server-port").value_or("");
  if (settings.host.empty() || parse_port(settings.port).value_or(0) == 0) {
    return fail(Category::kInvalid,
                "Deployment " + std::string(kProxyAgentDeployment) + " of the add-on does not say where the proxy server is");
  }
  settings.by_port_forward = argument(addon, "enable-port-forward-proxy") == "true";
  settings.proxy_ns = argument(addon, "proxy-server-namespace").value_or("");
  read_identifiers(argument(tunnel, "agent-identifiers").value_or(""), cluster, settings);
  if (settings.identifiers.empty()) {
    return fail(Category::kInvalid,
                "Deployment " + std::string(kProxyAgentDeployment) + " of the add-on announces no name of this cluster");
  }
  settings.serves_requests = service != nullptr;
  settings.takes_hub_tokens = service != nullptr && argument(service, "enable-impersonation").value_or("true") == "true";
  settings.replicas = static_cast<int>(num(deployment, {"spec", "replicas"}, 1));
  return settings;
}

}  // namespace fleetadm::proxy
