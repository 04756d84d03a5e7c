// Scenario lines of the installation and the configuration of an add-on: one pass of one controller, or all of them until a round
// changes nothing.
#pragma once

#include "core/addon/rules/scenario.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

/// {"addon", "now", "controller", "configTypes", "objects"} → the pass's answer (scenario.h). `controller`: install, owner,
/// annotation, installProgression, configHash, configuration, addonConfigHash, progressing or all; `configTypes`: the types whose
/// objects are known.
Result<Json> answer_config_scenario(const Json& scenario, rollout::Semantics conduct);

}  // namespace fleetadm::addon
