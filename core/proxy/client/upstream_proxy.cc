#include "core/proxy/client/upstream_proxy.h"

#include <utility>

#include "core/api/cluster_proxy.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"

namespace fleetadm::proxy {
namespace {

/// kNotFound: it has no such Secret, or nothing at that key.
Result<std::string> secret_value(const kube::Client& hub, const std::string& ns, const std::string& name, const char* key) {
  const std::string whole = "Secret " + ns + "/" + name;
  const auto secret = hub.find(kube::resources::secrets(), ns, name);
  if (!secret && secret.error().category == Category::kAuth)
    return fail(secret.error().wrap("cannot read what cluster-proxy is verified by").with_hint("get on " + whole + " is needed"));
  if (!secret) return fail(secret.error());
  const auto value = *secret ? base64_decode(str(**secret, {"data", key})) : std::string();
  if (!value || value->empty())
    return fail(Category::kNotFound, "cluster-proxy is not set up on the hub: there is no " + whole + " with " + key,
                "its manager makes it");
  return *value;
}

/// What the configuration says, or what upstream takes where it says nothing.
std::string setting(const Json& configuration, Path path, std::string_view otherwise) {
  std::string said = str(configuration, path);
  return said.empty() ? std::string(otherwise) : said;
}

std::string selector_text(const Json& service) {
  std::string text;
  const Json* labels = find(service, {"spec", "selector"});
  if (labels == nullptr || !labels->is_object()) return text;
  for (const auto& [key, value] : labels->items()) {
    if (value.is_string()) text += (text.empty() ? "" : ",") + key + "=" + value.get<std::string>();
  }
  return text;
}

/// The first address of a load balancer.
std::string balanced_address(const Json& service) {
  for (const Json& ingress : list_at(service, {"status", "loadBalancer", "ingress"})) {
    for (const char* field : {"ip", "hostname"})
      if (std::string address = str(ingress, {field}); !address.empty()) return address;
  }
  return {};
}

struct ServicePort {
  int outside = 0;
  int pod = 0;
};

/// The one that leads to `port` of the pods; a Service may have it under another number. Otherwise the first.
ServicePort service_port(const Json& service, int port) {
  ServicePort first{port, port};
  bool any = false;
  for (const Json& one : list_at(service, {"spec", "ports"})) {
    const auto outside = static_cast<int>(num(one, {"port"}, port));
    const ServicePort this_one{outside, static_cast<int>(num(one, {"targetPort"}, outside))};
    if (this_one.outside == port || this_one.pod == port) return this_one;
    if (!std::exchange(any, true)) first = this_one;
  }
  return first;
}

/// Nothing where there is no Service of that name.
Result<std::optional<HubService>> hub_service(const kube::Client& hub, const std::string& ns, const std::string& name, int port,
                                              bool in_cluster) {
  FLEETADM_TRY(const auto service, hub.find(kube::resources::services(), ns, name));
  if (!service) return std::nullopt;
  HubService out;
  const ServicePort ports = service_port(*service, port);
  out.port = ports.outside;
  out.server_name = name + "." + ns + ".svc";
  out.pods = {ns, selector_text(*service), ports.pod};
  const std::string type = str(*service, {"spec", "type"});
  if (in_cluster) out.host = out.server_name;
  if (type == "ExternalName") out.host = str(*service, {"spec", "externalName"});
  if (out.host.empty() && type == "LoadBalancer") out.host = balanced_address(*service);
  if (out.host.empty() && out.pods.selector.empty()) return std::nullopt;
  return out;
}

Result<std::optional<HubService>> front_end(const kube::Client& hub, const Json& configuration, const std::string& ns,
                                            bool in_cluster) {
  const std::string inside =
      setting(configuration, {"spec", "proxyServer", "inClusterServiceName"}, api::kProxyEntrypointService);
  const std::string server_name = inside + "." + ns + ".svc";
  FLEETADM_TRY(auto service, hub_service(hub, ns, inside, api::kFrontPort, in_cluster));
  const bool balanced = str(configuration, {"spec", "proxyServer", "entrypoint", "type"}) == "LoadBalancerService";
  if (balanced && (!service || service->host.empty())) {
    const std::string outside = setting(configuration, {"spec", "proxyServer", "entrypoint", "loadBalancerService", "name"},
                                        api::kProxyLoadBalancerService);
    FLEETADM_TRY(auto other, hub_service(hub, ns, outside, api::kFrontPort, in_cluster));
    if (other && !other->host.empty()) service = std::move(other);
  }
  if (!service) return std::nullopt;
  service->server_name = server_name;
  if (service->pods.selector.empty()) service->pods.selector = api::kProxyServerPods;
  return service;
}

}  // namespace

Result<std::optional<UpstreamProxy>> find_upstream_proxy(const kube::Client& hub, bool in_cluster) {
  const auto found = hub.find(api::managed_proxy_configurations(), "", api::kProxyConfigurationName);
  // Who may not read it cannot use it either.
  if (!found && (found.error().code == 404 || found.error().category == Category::kAuth)) return std::nullopt;
  if (!found) return fail(found.error());
  if (!*found) return std::nullopt;
  const Json& configuration = **found;
  UpstreamProxy proxy;
  proxy.ns = setting(configuration, {"spec", "proxyServer", "namespace"}, api::kClusterProxyNamespace);
  proxy.client_secret = setting(configuration, {"spec", "authentication", "dump", "secrets", "signingProxyClientSecretName"},
                                api::kProxyClientSecret);
  if (!is_dns_label(proxy.ns) || !is_dns_subdomain(proxy.client_secret))
    return fail(Category::kInvalid, "ManagedProxyConfiguration cluster-proxy names a namespace or Secret that there cannot be");
  FLEETADM_TRY(proxy.ca, secret_value(hub, proxy.ns, std::string(api::kProxyServerCaSecret), "ca.crt"));
  FLEETADM_TRY(proxy.user_server,
               hub_service(hub, proxy.ns, std::string(api::kUserServerService), api::kUserServerPort, in_cluster));
  FLEETADM_TRY(proxy.front_end, front_end(hub, configuration, proxy.ns, in_cluster));
  return proxy;
}

Result<pki::KeyPair> front_end_certificate(const kube::Client& hub, const UpstreamProxy& proxy) {
  pki::KeyPair pair;
  FLEETADM_TRY(pair.certificate, secret_value(hub, proxy.ns, proxy.client_secret, "tls.crt"));
  FLEETADM_TRY(pair.key, secret_value(hub, proxy.ns, proxy.client_secret, "tls.key"));
  return pair;
}

}  // namespace fleetadm::proxy
