// Scenario lines of the deploy controller: one pass over one add-on of one cluster.
#pragma once

#include "core/addon/rules/scenario.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// {"addon", "cluster", "now", "agent", "objects"} → the pass's answer (scenario.h). `agent`: {"type": "template"}, or
/// {"type": "manifests", "manifests" or "error", "hostedModeEnabled", "hostedModeInfo", "configCheckEnabled", "manifestConfigs",
/// "healthProber", "probeFields", "checker", "noWorkProber"}.
Result<Json> answer_deploy_scenario(const Json& scenario, rollout::Semantics conduct);

}  // namespace fleetadm::addon
