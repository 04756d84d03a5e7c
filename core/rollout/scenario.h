// Scenario lines: one step of the rollout engine as JSON ({"id","now","strategy","groups","existing"}), and its answer.
#pragma once

#include "core/rollout/types.h"
#include "kubeclient/base/json.h"

namespace fleetadm::rollout {

/// The answer to one scenario: {"toRollout","timeOut","removed","maxFailureBreach"} and "recheckAfter" where there is one, lists
/// sorted by cluster; and {"error"} where the engine refuses the strategy. kInvalid: the line is no scenario.
Result<Json> answer_scenario(const Json& scenario, Semantics conduct);

}  // namespace fleetadm::rollout
