// One recorded or asked-for case of feedback or condition rules as JSON, in and out: the batch form of `work evaluate`. The
// formats are documented in fleetadm-scenarios(7); a change here is a change of that contract.
#pragma once

#include "kubeclient/base/json.h"

namespace fleetadm::work {

/// A case with "rule" is one of status feedback: {"object", "rule", "rawJson"} → {"values"} and, where some path failed, "error".
/// A case with "rules" is one of condition rules: {"object", "rules"} → {"conditions"}. kInvalid: it is neither.
Result<Json> answer_scenario(const Json& line);

}  // namespace fleetadm::work
