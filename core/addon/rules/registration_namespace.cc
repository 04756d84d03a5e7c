#include "core/addon/rules/registration_namespace.h"

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/workload_form.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {

Result<std::string> registration_namespace(const ObjectReader& objects, const Json& addon) {
  FLEETADM_TRY(const ObjectPtr addon_template, template_of(objects, addon));
  if (const Json* reference = first_config_reference(addon, addon_deployment_configs()); reference != nullptr) {
    if (str(*reference, {"desiredConfig", "specHash"}).empty()) {
      return fail(Category::kInvalid, "addon " + name_of(addon) + " deployment config desired spec hash is empty");
    }
    const std::string ns = str(*reference, {"desiredConfig", "namespace"});
    const std::string name = str(*reference, {"desiredConfig", "name"});
    const ObjectPtr config = objects.get(addon_deployment_configs(), ns, name);
    if (config == nullptr) return fail(Category::kNotFound, "addondeploymentconfig " + ns + "/" + name + " not found");
    std::string install = str(*config, {"spec", "agentInstallNamespace"});
    if (!install.empty()) return install;
  }
  std::string of_daemon_set;
  for (const Json& manifest : list_at(*addon_template, {"spec", "agentSpec", "workload", "manifests"})) {
    const std::optional<WorkloadKind> kind = workload_kind(manifest);
    if (!kind || !fits_type(manifest, *kind)) continue;
    if (kind == WorkloadKind::kDaemonSet) {
      if (of_daemon_set.empty()) of_daemon_set = namespace_of(manifest);
      continue;
    }
    if (!namespace_of(manifest).empty()) return namespace_of(manifest);
    break;
  }
  return of_daemon_set.empty() ? std::string(api::kAgentAddonNamespace) : of_daemon_set;
}

}  // namespace fleetadm::addon
