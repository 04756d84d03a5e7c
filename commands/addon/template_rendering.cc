#include "commands/addon/template_rendering.h"

#include "core/addon/rules/config_hash.h"

namespace fleetadm::commands {
namespace {

Json decided_reference(const addon::GroupResource& type, const Json& object) {
  Json desired = {{"name", name_of(object)}, {"specHash", addon::config_spec_hash(object)}};
  if (const std::string ns = namespace_of(object); !ns.empty()) desired["namespace"] = ns;
  return {{"group", type.group}, {"resource", type.resource}, {"desiredConfig", std::move(desired)}};
}

}  // namespace

Result<addon::Rendering> render_inputs(const RenderingInputs& inputs) {
  addon::MemoryObjects objects;
  Json references = Json::array({decided_reference(addon::addon_templates(), inputs.addon_template)});
  objects.put(inputs.addon_template);
  if (!inputs.config.is_null()) {
    references.push_back(decided_reference(addon::addon_deployment_configs(), inputs.config));
    objects.put(inputs.config);
  }
  if (!inputs.managed_cluster.is_null()) objects.put(inputs.managed_cluster);
  const Json enabled = {{"metadata", {{"name", inputs.addon}, {"namespace", inputs.cluster}}},
                        {"status", {{"configReferences", std::move(references)}}}};
  return addon::render_template(objects, enabled, rollout::Semantics::kStrict);
}

}  // namespace fleetadm::commands
