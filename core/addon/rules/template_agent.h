// The agent of an add-on with an AddOnTemplate, described for the cluster of one ManagedClusterAddOn.
#pragma once

#include <optional>

#include "core/addon/rules/agent_description.h"
#include "core/addon/rules/object_reader.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// nullopt: the add-on is not configured with a template, so that another manager deploys it, or none. kStrict: hosted mode is
/// supported, and the agent is held while what was decided for the cluster cannot be rendered (render.h).
std::optional<AgentDescription> template_agent(const ObjectReader& objects, const Json& addon, rollout::Semantics conduct);

}  // namespace fleetadm::addon
