// LimitRanges: what containers get that do not say what they need, and how much a container, a pod or a claim may ask for. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/sandbox/model/kind.h"

namespace fleetadm::sandbox::quota {

/// Gives the pod's containers the requests and limits that they leave out; an annotation tells of it.
void give_default_limits(const std::vector<Json>& ranges, Json& pod);
/// Why the range does not allow the object, in Kubernetes' words; empty where it does.
std::string limit_violation(const Json& range, const Kind& kind, const Json& object);

}  // namespace fleetadm::sandbox::quota
