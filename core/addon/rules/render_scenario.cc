#include "core/addon/rules/render_scenario.h"

#include "core/addon/rules/registration_namespace.h"
#include "core/addon/rules/render.h"

namespace fleetadm::addon {

Result<Json> answer_render_scenario(const Json& scenario, rollout::Semantics conduct) {
  FLEETADM_TRY(const ScenarioInput input, read_scenario(scenario));
  const ObjectPtr addon = input.objects.get(managed_cluster_addons(), input.cluster, input.addon);
  if (addon == nullptr) {
    return fail(Category::kInvalid, "the objects have no ManagedClusterAddOn " + input.cluster + "/" + input.addon);
  }
  Json answer = Json::object();
  if (Result<Rendering> rendering = render_template(input.objects, *addon, conduct); rendering) {
    answer["manifests"] = std::move(rendering->manifests);
  } else {
    answer["error"] = rendering.error().message;
  }
  if (Result<std::string> ns = registration_namespace(input.objects, *addon); ns) {
    answer["registrationNamespace"] = std::move(*ns);
  } else {
    answer["registrationNamespaceError"] = ns.error().message;
  }
  return answer;
}

}  // namespace fleetadm::addon
