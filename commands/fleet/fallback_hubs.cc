#include "commands/fleet/fallback_hubs.h"

#include <set>
#include <utility>

#include "core/registration/agent/hub_secret.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/data_only.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::commands {
namespace {

Result<FallbackHub> read_hub(const std::string& file, const std::string& cluster_name) {
  kube::ConfigOverrides overrides;
  overrides.kubeconfig = file;
  overrides.interactive = false;
  FLEETADM_TRY(const kube::Kubeconfig loaded, kube::Kubeconfig::load(overrides));
  FLEETADM_TRY(const Json flat, loaded.flatten(loaded.current_context()));
  FallbackHub hub;
  hub.kubeconfig = dump_yaml(flat);
  FLEETADM_CHECK(kube::check_holds_data_only(hub.kubeconfig));
  FLEETADM_TRY(const auto endpoint, registration::agent::endpoint_of(hub.kubeconfig));
  const Json& users = list_at(flat, {"users"});
  hub.endpoint.server = endpoint.server;
  hub.endpoint.ca_pem = endpoint.ca_pem;
  hub.endpoint.system_roots = endpoint.ca_pem.empty();
  hub.endpoint.proxy_url = endpoint.proxy_url;
  hub.endpoint.token = users.empty() ? std::string() : str(users.front(), {"user", "token"});
  hub.endpoint.cluster_name = cluster_name;
  if (hub.endpoint.token.empty()) {
    return fail(Category::kUsage, "its user has no token, and a cluster joins with one",
                "put a token of that hub there: fleetadm token create --context THAT_HUB");
  }
  return hub;
}

}  // namespace

Result<std::vector<FallbackHub>> read_fallback_hubs(const JoinOptions& options, const std::string& first) {
  std::vector<FallbackHub> hubs;
  std::set<std::string> servers{first};
  for (const std::string& file : options.fallback_hubs) {
    auto hub = read_hub(file, options.cluster_name);
    if (!hub) {
      Error error = hub.error().wrap("--fallback-hub \"" + file + "\"");
      error.category = Category::kUsage;
      return fail(std::move(error));
    }
    if (!servers.insert(hub->endpoint.server).second) {
      return fail(Category::kUsage, "--fallback-hub \"" + file + "\" is the hub " + hub->endpoint.server + " again",
                  "name each hub once");
    }
    hubs.push_back(std::move(*hub));
  }
  return hubs;
}

void check_fallback_hubs(Context& context, const std::vector<FallbackHub>& hubs) {
  for (const FallbackHub& hub : hubs) {
    const std::string which = "Checking the further hub " + hub.endpoint.server;
    context.progress().begin(which);
    const join::Preflight preflight = join::check_hub(hub.endpoint, context.clock(), context.stop());
    if (!preflight.error) {
      context.progress().done();
      continue;
    }
    context.progress().failed(preflight.error->message);
    context.progress().warn("the further hub " + hub.endpoint.server +
                            " cannot be joined now; the agent tries it when it is needed: " + preflight.error->message);
  }
}

}  // namespace fleetadm::commands
