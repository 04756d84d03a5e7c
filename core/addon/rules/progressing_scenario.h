// Scenario lines of the progress of add-ons by their works.
#pragma once

#include "core/addon/rules/scenario.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// {"addon", "now", "objects"} → Progressing and the applied configurations of every ManagedClusterAddOn of that name
/// (scenario.h). Both conducts answer alike.
Result<Json> answer_progressing_scenario(const Json& scenario, rollout::Semantics conduct);

}  // namespace fleetadm::addon
