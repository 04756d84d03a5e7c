#include "core/upgrade/intents.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/api/cluster_proxy.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/api/proxy_server_secrets.h"
#include "core/api/push_member.h"
#include "core/install/owned_fields.h"
#include "core/install/pod_settings.h"
#include "core/install/program_args.h"
#include "core/install/webhook_urls.h"
#include "core/registration/join/agent_manifests.h"
#include "core/registration/join/hosted_manifests.h"
#include "templates/templates.h"

namespace fleetadm::upgrade {
namespace {

constexpr std::string_view kClusterNameFlag = "--cluster-name=";
constexpr std::string_view kGatewayPush = "hub/gateway-push.yaml";
constexpr std::string_view kPushRole = "open-cluster-management:fleetadm-hub-push";  // of hub/push.yaml

std::string flag_of(const std::string& arg) { return arg.substr(0, arg.find('=')); }

Json all_args(Json own, const Json* live) {
  if (live == nullptr) return own;
  for (std::string& arg : added_args(own, args_of(*live))) own.push_back(std::move(arg));
  return own;
}

/// What a Deployment's pods were given beyond the template: node selectors, tolerations, pull secrets, variables, volumes.
void keep_pod_settings(std::vector<Json>& objects, const Installed& installed, std::string_view manager) {
  for (Json& object : objects) {
    if (str(object, {"kind"}) == "ServiceAccount") {
      // The IAM role that it may assume.
      const Json* live = installed.find("ServiceAccount", namespace_of(object), name_of(object));
      if (live != nullptr) install::keep_applied(object, *live, manager, {"metadata", "annotations"});
      continue;
    }
    if (str(object, {"kind"}) != "Deployment") continue;
    const Json* live = installed.find("Deployment", namespace_of(object), name_of(object));
    if (live == nullptr) continue;
    if (!annotation_of(*live, install::kOwnResources).empty()) {
      at_or_make(object, {"metadata", "annotations", install::kOwnResources}) = "true";
      for (Json& container : at_or_make(object, {"spec", "template", "spec", "containers"})) container.erase("resources");
    }
    install::keep_applied(object, *live, manager, {"spec", "template", "spec"});
  }
}

bool needs_gateway(std::string_view file) { return file.starts_with("hub/gateway") || file.starts_with("hub/konnectivity"); }

/// Of the proxy server of the add-on cluster-proxy, where the gateway takes its place.
Result<api::ProxyServerSecrets> proxy_server_of(const kube::Client& hub, bool konnectivity) {
  if (!konnectivity) return api::ProxyServerSecrets{};
  FLEETADM_TRY(const Json configuration, hub.get(api::managed_proxy_configurations(), {}, api::kProxyConfigurationName));
  return api::proxy_server_secrets(configuration);
}

}  // namespace

std::vector<std::string> added_args(const Json& own, const std::vector<std::string>& live) {
  std::map<std::string, int> expected;  // how often a flag, or a word that is none, is the version's own
  for (const Json& arg : own) {
    if (arg.is_string()) ++expected[flag_of(arg.get<std::string>())];
  }
  std::vector<std::string> added;
  for (const std::string& arg : live) {
    int& left = expected[flag_of(arg)];
    if (left > 0) {
      --left;
    } else {
      added.push_back(arg);
    }
  }
  return added;
}

Result<std::vector<Json>> hub_intent(const kube::Client& hub, const Installed& installed, const std::string& image,
                                     std::string_view manager) {
  const Json* controllers = installed.find("Deployment", api::kHubNamespace, kHubDeployment);
  const Json* gateway = installed.find("Deployment", api::kHubNamespace, kGatewayDeployment);
  const std::vector<std::string> gateway_live = gateway == nullptr ? std::vector<std::string>{} : args_of(*gateway);
  const bool konnectivity = std::find(gateway_live.begin(), gateway_live.end(), "--accept-konnectivity") != gateway_live.end();
  FLEETADM_TRY(const api::ProxyServerSecrets proxy, proxy_server_of(hub, konnectivity));
  const auto replicas = [](const Json* deployment) {
    return deployment == nullptr ? 1 : num(*deployment, {"spec", "replicas"}, 1);
  };
  const std::map<std::string, Json> values{
      {"image", image},
      {"replicas", replicas(controllers)},
      {"gateway_replicas", replicas(gateway)},
      {"args", all_args(install::hub_args(), controllers)},
      {"gateway_args", all_args(install::gateway_args(konnectivity), gateway)},
      {"proxy_namespace", proxy.ns},
      {"proxy_secrets", Json{proxy.ca, proxy.front, proxy.agents, proxy.client, proxy.signer}}};
  const std::vector<std::string_view> first{"hub/namespaces.yaml"};
  const std::vector<std::string_view> always{"hub/admission.yaml", "hub/bootstrap.yaml", "hub/rbac.yaml", "hub/webhook.yaml",
                                             "hub/deployment.yaml"};
  // A version that had both could not do that yet.
  const bool dials_by_gateway = gateway != nullptr && installed.find("Role", api::kPushNamespace, kPushRole) != nullptr;
  std::vector<Json> objects;
  const auto add = [&](std::string_view file, bool optional) -> Status {
    FLEETADM_TRY(auto rendered, templates::render(file, values));
    if (optional && std::none_of(rendered.begin(), rendered.end(), [&](const Json& one) { return installed.has(one); }))
      return {};
    for (Json& object : rendered) objects.push_back(std::move(object));
    return {};
  };
  const auto add_options = [&](bool of_gateway) -> Status {
    for (const std::string_view file : templates::list("hub/")) {
      const bool fixed = file == first.front() || std::find(always.begin(), always.end(), file) != always.end();
      if (fixed || needs_gateway(file) != of_gateway) continue;
      FLEETADM_CHECK(add(file, file != kGatewayPush || !dials_by_gateway));
    }
    return {};
  };
  FLEETADM_CHECK(add(first.front(), false));
  for (const std::string_view crd : templates::list("crds/hub/")) FLEETADM_CHECK(add(crd, false));
  for (const std::string_view crd : templates::list("crds/profiles/")) FLEETADM_CHECK(add(crd, true));
  FLEETADM_CHECK(add_options(false));
  for (const std::string_view file : always) FLEETADM_CHECK(add(file, false));
  FLEETADM_CHECK(add_options(true));
  keep_pod_settings(objects, installed, manager);
  FLEETADM_CHECK(install::keep_webhook_urls(hub, objects));
  return objects;
}

Result<std::vector<Json>> agent_intent(const Installed& installed, const std::string& image, std::string_view manager) {
  const Json* live = installed.find("Deployment", api::kAgentNamespace, api::kAgentDeployment);
  const std::vector<std::string> args = live == nullptr ? std::vector<std::string>{} : args_of(*live);
  const auto named =
      std::find_if(args.begin(), args.end(), [](const std::string& arg) { return arg.starts_with(kClusterNameFlag); });
  if (named == args.end()) return fail(Category::kConflict, "the installed agent is not told the name of its cluster");
  const std::string cluster = named->substr(kClusterNameFlag.size());
  join::AgentInstall agent;
  agent.cluster_name = cluster;
  agent.image = image;
  agent.args = added_args(join::agent_args(cluster), args);
  agent.network_policy = installed.find("NetworkPolicy", api::kAgentNamespace, api::kAgentDeployment) != nullptr;
  FLEETADM_TRY(std::vector<Json> objects, join::agent_objects(agent));
  keep_pod_settings(objects, installed, manager);
  return objects;
}

Result<std::vector<Json>> hosting_intent(const Installed& installed, const std::string& ns, const std::string& image,
                                         std::string_view manager) {
  join::HostedAgents agents;
  agents.ns = ns;
  agents.image = image;
  agents.network_policy = installed.find("NetworkPolicy", ns, api::kHostedDeployment) != nullptr;
  FLEETADM_TRY(std::vector<Json> objects, join::hosting_objects(agents));
  keep_pod_settings(objects, installed, manager);
  return objects;
}

Result<std::vector<Json>> with_image(const Installed& installed, const std::string& image, std::string_view manager) {
  std::vector<Json> deployments;
  for (const Json& live : installed.objects) {
    if (str(live, {"kind"}) != "Deployment") continue;
    Json intent = install::applied_by(live, manager);
    Json& containers = at_or_make(intent, {"spec", "template", "spec", "containers"});
    if (!containers.is_array() || containers.empty()) {
      return fail(Category::kConflict,
                  "the Deployment " + kube::object_key(live) + " was not installed by fleetadm: its pods are someone else's",
                  "change its image with what installed it");
    }
    for (Json& container : containers) container["image"] = image;
    deployments.push_back(std::move(intent));
  }
  return deployments;
}

}  // namespace fleetadm::upgrade
