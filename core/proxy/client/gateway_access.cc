#include "core/proxy/client/gateway_access.h"

#include <utility>

#include "core/api/kinds.h"
#include "kubeclient/base/names.h"

namespace fleetadm::proxy {
namespace {

class MemberTransport final : public kube::Transport {
 public:
  MemberTransport(std::shared_ptr<kube::Transport> gateway, std::string prefix)
      : gateway_(std::move(gateway)), prefix_(std::move(prefix)) {}
  Result<kube::Response> call(const kube::Request& request) override { return gateway_->call(at_member(request)); }
  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) override {
    return gateway_->stream(at_member(request), std::move(sink));
  }
  std::string address() const override { return gateway_->address() + prefix_; }

 private:
  kube::Request at_member(kube::Request request) const {
    request.path = prefix_ + request.path;
    return request;
  }

  const std::shared_ptr<kube::Transport> gateway_;
  const std::string prefix_;
};

}  // namespace

Result<api::PublishedGateway> find_gateway(const kube::Client& hub) {
  const std::string name = std::string(api::kHubNamespace) + "/" + std::string(api::kGatewayConfigMap);
  auto found = hub.find(kube::resources::config_maps(), api::kHubNamespace, api::kGatewayConfigMap);
  if (!found && found.error().category == Category::kAuth)
    return fail(found.error().wrap("cannot read where the gateway is").with_hint("get on ConfigMap " + name + " is needed"));
  if (!found) return fail(found.error());
  if (!*found)
    return fail(Category::kNotFound, "the hub has no gateway to its clusters: ConfigMap " + name + " does not exist",
                "install one with: fleetadm init --gateway");
  FLEETADM_TRY(auto gateway, api::read_gateway(**found));
  if (!gateway || gateway->server.empty())
    return fail(Category::kUnavailable, "the hub's gateway has not published its address yet",
                "ConfigMap " + name + " will have it once the gateway runs");
  return std::move(*gateway);
}

Result<std::string> member_prefix(std::string_view cluster) {
  if (!is_dns_subdomain(cluster))
    return fail(Category::kUsage, "\"" + std::string(cluster) + "\" is not a valid cluster name",
                "list the clusters with: fleetadm get clusters");
  return "/clusters/" + std::string(cluster) + "/proxy";
}

kube::RestConfig gateway_config(const kube::RestConfig& hub, const api::PublishedGateway& gateway) {
  kube::RestConfig config = hub;
  config.server = gateway.server;
  while (config.server.ends_with('/')) config.server.pop_back();
  config.ca_data = gateway.ca;
  config.tls_server_name.clear();
  config.insecure = false;
  config.name = "gateway";
  config.default_namespace.clear();
  return config;
}

Result<kube::RestConfig> member_config(const kube::RestConfig& hub, const api::PublishedGateway& gateway,
                                       std::string_view cluster) {
  FLEETADM_TRY(const std::string prefix, member_prefix(cluster));
  kube::RestConfig config = gateway_config(hub, gateway);
  config.server += prefix;
  config.name = cluster;
  return config;
}

std::shared_ptr<kube::Transport> member_transport(std::shared_ptr<kube::Transport> gateway, std::string prefix) {
  return std::make_shared<MemberTransport>(std::move(gateway), std::move(prefix));
}

}  // namespace fleetadm::proxy
