// Scenario lines of registration: what the controllers of an add-on's registration answer to the objects of the line.
#pragma once

#include "core/rollout/types.h"
#include "kubeclient/base/json.h"

namespace fleetadm::addon {

/// {"part": "setup" | "csr" | "token", "addon", "cluster" (not of csr), "csr" (its name), "now", "objects"} → the answer of the
/// part (fleetadm-scenarios(7)). Requests that upstream would approve or sign and a rule of ours forbids are answered by
/// {"refusedBy": <the rule>, "why"}. kInvalid: not of this form.
Result<Json> answer_registration_scenario(const Json& scenario, rollout::Semantics conduct);

}  // namespace fleetadm::addon
