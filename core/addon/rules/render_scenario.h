// Scenario lines of rendering: the manifests of an AddOnTemplate for one cluster.
#pragma once

#include "core/addon/rules/scenario.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// {"addon", "cluster", "objects"} → {"manifests"} or {"error"}, and {"registrationNamespace"} or {"registrationNamespaceError"}.
Result<Json> answer_render_scenario(const Json& scenario, rollout::Semantics conduct);

}  // namespace fleetadm::addon
