#include "core/registration/join/agent_manifests.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/join/hub_secrets.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"

namespace fleetadm::join {

std::string given_or(const std::vector<std::string>& args, std::string_view flag, std::string_view otherwise) {
  std::string value(otherwise);
  for (const std::string& arg : args) {
    if (arg.starts_with(flag)) value = arg.substr(flag.size());
  }
  return value;
}

bool reports_figures(const std::vector<std::string>& args) {
  bool reports = false;
  for (const std::string& arg : args) {
    if (arg == "--report-figures" || arg.starts_with("--report-figures=")) reports = !arg.ends_with("=false");
  }
  return reports;
}

namespace {

/// The secrets that the agent reads: the bootstrap kubeconfigs, one for each hub, and its credential.
Json secrets_of(const std::vector<std::string>& args, const std::string& hub_secret) {
  constexpr std::string_view kBootstrap = "--bootstrap-secret=";
  Json secrets = Json::array();
  for (const std::string& arg : args) {
    if (arg.starts_with(kBootstrap)) secrets.push_back(arg.substr(kBootstrap.size()));
  }
  if (secrets.empty()) secrets.push_back(std::string(api::kBootstrapSecret));
  secrets.push_back(hub_secret);
  return secrets;
}

}  // namespace

Status check_not_elsewhere(const kube::Client& spoke, const std::string& cluster, const std::string& server) {
  FLEETADM_TRY(const auto stored, spoke.find(kube::resources::secrets(), api::kAgentNamespace, api::kHubKubeconfigSecret));
  if (stored) {
    if (const auto name = base64_decode(str(*stored, {"data", "cluster-name"})); name && !name->empty() && *name != cluster) {
      return fail(Category::kConflict, "this cluster has already joined a fleet, as \"" + *name + "\"",
                  "use --cluster-name " + *name + ", or leave that fleet first: fleetadm unjoin --cluster-name " + *name);
    }
  }
  FLEETADM_TRY(const auto bootstrap, spoke.find(kube::resources::secrets(), api::kAgentNamespace, api::kBootstrapSecret));
  if (!bootstrap) return {};
  const auto text = base64_decode(str(*bootstrap, {"data", "kubeconfig"}));
  if (!text) return {};
  const auto kubeconfig = kube::Kubeconfig::from_text(*text, "the bootstrap kubeconfig");
  if (!kubeconfig) return {};
  const auto config = kubeconfig->resolve({});
  if (config && config->server != server) {
    return fail(Category::kConflict, "this cluster has already joined the hub " + config->server,
                "leave it first: fleetadm unjoin --cluster-name " + cluster);
  }
  return {};
}

Json agent_args(const std::string& cluster_name) {
  return Json::array({"agent", "run", "--cluster-name=" + cluster_name, "--work-service-account=fleetadm-agent-work",
                      std::string(install::kHealthArgument)});
}

Result<std::vector<Json>> agent_objects(const AgentInstall& agent) {
  Json args = agent_args(agent.cluster_name);
  for (const std::string& arg : agent.args) args.push_back(arg);
  const std::string hub_secret = given_or(agent.args, "--hub-kubeconfig-secret=", api::kHubKubeconfigSecret);
  const std::map<std::string, Json> values{
      {"image", agent.image}, {"args", args}, {"secrets", secrets_of(agent.args, hub_secret)}, {"hub_secret", hub_secret}};
  std::vector<Json> objects;
  std::vector<std::string_view> files{"agent/namespaces.yaml"};
  for (const std::string_view crd : templates::list("crds/spoke/")) files.push_back(crd);
  files.emplace_back("agent/rbac.yaml");
  if (reports_figures(agent.args)) files.emplace_back("agent/figures.yaml");
  if (agent.network_policy) files.emplace_back("agent/network-policy.yaml");
  files.emplace_back("agent/deployment.yaml");
  for (const std::string_view file : files) {
    if (file == "agent/deployment.yaml" && agent.image_pull_secret) objects.push_back(*agent.image_pull_secret);
    FLEETADM_TRY(auto rendered, templates::render(file, values));
    for (Json& object : rendered) objects.push_back(std::move(object));
  }
  install::set_image_pull(objects, agent.image_pull);
  install::set_pod_settings(objects, agent.pods);
  return objects;
}

Result<std::vector<Json>> agent_manifests(const AgentInstall& agent, const std::vector<std::string>& hubs) {
  const std::vector<std::string> names = hub_secret_names(api::kBootstrapSecret, hubs.size());
  AgentInstall with_hubs = agent;
  add_hub_args(names, with_hubs.args);
  std::vector<Json> secrets;
  for (std::size_t i = 0; i < hubs.size(); ++i) secrets.push_back(kubeconfig_secret(api::kAgentNamespace, names[i], hubs[i]));
  FLEETADM_TRY(std::vector<Json> objects, agent_objects(with_hubs));
  // Before the agent that needs them.
  const auto deployment =
      std::find_if(objects.begin(), objects.end(), [](const Json& object) { return str(object, {"kind"}) == "Deployment"; });
  objects.insert(deployment, std::make_move_iterator(secrets.begin()), std::make_move_iterator(secrets.end()));
  return objects;
}

}  // namespace fleetadm::join
