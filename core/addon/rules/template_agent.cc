#include "core/addon/rules/template_agent.h"

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/render.h"

namespace fleetadm::addon {

std::optional<AgentDescription> template_agent(const ObjectReader& objects, const Json& addon, rollout::Semantics conduct) {
  if (!has_template(addon)) return std::nullopt;
  AgentDescription agent;
  agent.hosted_mode_enabled = conduct == rollout::Semantics::kStrict;
  agent.hosted_by_annotation = true;
  agent.config_check_enabled = true;
  agent.prober = HealthProber::kWorkloads;
  Result<Rendering> rendering = render_template(objects, addon, conduct);
  if (rendering) {
    agent.manifests = std::move(rendering->manifests);
    agent.manifest_configs = std::move(rendering->manifest_configs);
  } else if (rendering.error().reason == kNotReleased) {
    agent.held = true;
  } else {
    agent.error = rendering.error();
  }
  return agent;
}

}  // namespace fleetadm::addon
