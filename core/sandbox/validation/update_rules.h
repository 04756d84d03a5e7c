// What an update of a built-in object may not change: the immutable fields of Kubernetes' own kinds. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/sandbox/model/error.h"
#include "core/sandbox/model/kind.h"

namespace fleetadm::sandbox {

/// What is wrong with `object` as the next state of `old`, in the order in which a real server lists it. `object` has its
/// defaults; `old` is as it was stored.
std::vector<Cause> update_problems(const Kind& kind, const Json& object, const Json& old);

/// Resources, as the store names them, whose updates are checked for this and that have no other rules.
std::vector<std::string> plainly_immutable();

}  // namespace fleetadm::sandbox
