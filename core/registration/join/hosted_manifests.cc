#include "core/registration/join/hosted_manifests.h"

#include <map>
#include <utility>

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/join/hub_secrets.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/joined.h"
#include "templates/templates.h"

namespace fleetadm::join {
namespace {

/// Roles in the agent's namespace are of what an agent does for itself where it runs: its Secrets, its lease, its pods.
bool is_of_program(const Json& object) {
  const std::string kind = str(object, {"kind"});
  if (namespace_of(object) != api::kAgentNamespace) return false;
  return kind == "Role" || (kind == "RoleBinding" && name_of(object).ends_with("-health"));
}

Status append(std::vector<Json>& objects, std::string_view file, const std::map<std::string, Json>& values) {
  FLEETADM_TRY(auto rendered, templates::render(file, values));
  for (Json& object : rendered) objects.push_back(std::move(object));
  return {};
}

}  // namespace

Result<std::vector<Json>> member_objects(const Hosting& hosting, bool figures) {
  std::vector<Json> all;
  FLEETADM_CHECK(append(all, "agent/namespaces.yaml", {}));
  for (const std::string_view crd : templates::list("crds/spoke/")) FLEETADM_CHECK(append(all, crd, {}));
  FLEETADM_CHECK(append(all, "agent/rbac.yaml", {{"secrets", Json::array()}, {"hub_secret", ""}}));
  if (figures) FLEETADM_CHECK(append(all, "agent/figures.yaml", {}));
  FLEETADM_CHECK(append(all, "hosted/member.yaml", {}));
  std::vector<Json> objects;
  const std::size_t own = all.size() - 1;  // the role in place of those of a program
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != own && is_of_program(all[i])) continue;
    if (str(all[i], {"kind"}) == "ServiceAccount" && name_of(all[i]) == api::kAgentDeployment) {
      all[i]["metadata"]["annotations"] = {{std::string(api::kHostedAsAnnotation), hosting.cluster},
                                           {std::string(api::kHostedHubAnnotation), hosting.hub_server},
                                           {std::string(api::kHostedByAnnotation), hosting.by}};
      all[i]["automountServiceAccountToken"] = false;
    }
    objects.push_back(std::move(all[i]));
  }
  return objects;
}

Result<std::vector<Json>> hosting_objects(const HostedAgents& agents) {
  const Json args = Json::array({"agent", "run", "--hosted-from=" + agents.ns, "--namespace=" + std::string(api::kAgentNamespace),
                                 "--work-service-account=fleetadm-agent-work", std::string(install::kHealthArgument)});
  const std::map<std::string, Json> values{{"namespace", agents.ns}, {"image", agents.image}, {"args", args}};
  std::vector<Json> objects;
  FLEETADM_CHECK(append(objects, "hosted/namespace.yaml", values));
  FLEETADM_CHECK(append(objects, "hosted/rbac.yaml", values));
  if (agents.network_policy) FLEETADM_CHECK(append(objects, "hosted/network-policy.yaml", values));
  if (agents.image_pull_secret) objects.push_back(*agents.image_pull_secret);
  FLEETADM_CHECK(append(objects, "hosted/deployment.yaml", values));
  install::set_image_pull(objects, agents.image_pull);
  install::set_pod_settings(objects, agents.pods);
  return objects;
}

std::vector<Json> member_secrets(const MemberSecrets& secrets) {
  const std::vector<std::string> names =
      hub_secret_names(api::hosted_bootstrap_secret(secrets.cluster), secrets.bootstraps.size());
  std::vector<Json> objects;
  for (std::size_t i = 0; i < names.size(); ++i) {
    objects.push_back(kubeconfig_secret(secrets.ns, names[i], secrets.bootstraps[i]));
    objects.back()["metadata"]["labels"] = {{std::string(api::kHostedOfLabel), secrets.cluster}};
  }
  Json member = kubeconfig_secret(secrets.ns, api::hosted_member_secret(secrets.cluster), secrets.kubeconfig);
  member["metadata"]["labels"] = {{std::string(api::kHostedMemberLabel), secrets.cluster},
                                  {std::string(api::kHostedOfLabel), secrets.cluster}};
  member["metadata"]["annotations"] = {{std::string(api::kHostedBootstrapAnnotation), joined(names, ",")}};
  if (!secrets.by.empty()) member["metadata"]["annotations"][std::string(api::kHostedByAnnotation)] = secrets.by;
  if (!secrets.args.empty()) member["data"][std::string(api::kHostedArgsKey)] = base64_encode(dump_json(Json(secrets.args)));
  objects.push_back(std::move(member));
  return objects;
}

}  // namespace fleetadm::join
