#include "core/addon/rules/template_agent.h"

#include <algorithm>

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/config_reference.h"
#include "core/addon/rules/dialed_cluster.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/render.h"

namespace fleetadm::addon {
namespace {

/// Who looks after templates has written that the add-on supports them, and nobody else will let it go.
bool waits_for_lost_template(const Json& addon) {
  const Json& supported = list_at(addon, {"status", "supportedConfigs"});
  const auto is_template = [](const Json& one) { return config_key(one).type == addon_templates(); };
  const auto held_by = [&](std::string_view finalizer) { return has_finalizer(addon, finalizer); };
  return is_deleting(addon) && std::any_of(supported.begin(), supported.end(), is_template) &&
         (held_by(kPreDeleteFinalizer) || held_by(kHostedPreDeleteFinalizer) || held_by(kHostedManifestsFinalizer));
}

}  // namespace

std::optional<AgentDescription> template_agent(const ObjectReader& objects, const Json& addon, rollout::Semantics conduct) {
  const bool strict = conduct == rollout::Semantics::kStrict;
  const bool known = has_template(addon);
  if (!known && !(strict && waits_for_lost_template(addon))) return std::nullopt;
  AgentDescription agent;
  agent.hosted_mode_enabled = strict;
  agent.hosted_by_annotation = true;
  agent.config_check_enabled = true;
  agent.prober = HealthProber::kWorkloads;
  if (strict && !is_deleting(addon) && waits_for_an_agent(addon)) {
    agent.held = true;
    return agent;
  }
  Result<Rendering> rendering = render_template(objects, addon, conduct);
  if (rendering) {
    agent.manifests = std::move(rendering->manifests);
    agent.manifest_configs = std::move(rendering->manifest_configs);
  } else if (rendering.error().reason == kNotReleased) {
    agent.held = true;
  } else {
    agent.error = rendering.error();
    agent.lost = strict && is_deleting(addon) && (!known || rendering.error().category == Category::kNotFound);
  }
  return agent;
}

}  // namespace fleetadm::addon
