// Condition rules of a work's manifests (docs/reference/work.md#condition-rules, docs/reference/ocm-api.md#manifestwork). Pure.
#pragma once

#include "kubeclient/base/json.h"

namespace fleetadm::work {

/// Conditions of spec.manifestConfigs[].conditionRules for a live object, in the order of the rules; {type, status, reason,
/// message} each. Of a type that several rules give, the last one counts. All rules share one cost budget. Other than upstream's,
/// a message expression ends by that budget's size, too.
Json evaluate_condition_rules(const Json& rules, const Json& object);

}  // namespace fleetadm::work
