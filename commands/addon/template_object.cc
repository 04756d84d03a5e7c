#include "commands/addon/template_object.h"

#include "core/api/kinds.h"

namespace fleetadm::commands {

void bind_hub_registration(FlagSet& flags, TemplateOptions& options) {
  flags.boolean(&options.hub_registration, "hub-registration",
                "The agent registers with the hub: its containers get a kubeconfig for it");
}

Json addon_template(const std::string& addon, const TemplateOptions& options, Json manifests) {
  Json made = {{"apiVersion", api::addon_templates().api_version()},
               {"kind", api::addon_templates().kind},
               {"metadata", {{"name", addon + "-" + options.version}}},
               {"spec", {{"addonName", addon}, {"agentSpec", {{"workload", {{"manifests", std::move(manifests)}}}}}}}};
  if (!options.hub_registration) return made;
  Json registration = {{"type", "KubeClient"}};
  if (!options.cluster_role.empty()) {
    Json permission = {{"type", "CurrentCluster"}, {"currentCluster", {{"clusterRoleName", options.cluster_role}}}};
    registration["kubeClient"]["hubPermissions"] = Json::array({std::move(permission)});
  }
  made["spec"]["registration"] = Json::array({std::move(registration)});
  return made;
}

}  // namespace fleetadm::commands
