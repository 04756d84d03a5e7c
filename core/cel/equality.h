// What == answers, where it has an answer. Reference: cel-go's Equal of each type, and of Kubernetes' opaque types.
#pragma once

#include <optional>

#include "core/cel/value.h"

namespace fleetadm::cel {

/// equal(), but nullopt ("no such overload") where an opaque value (a quantity, an address, …) on the left meets a value of
/// another type, null apart. Within lists and maps such a pair counts as equal, as it does for the reference.
std::optional<bool> equality(const Value& a, const Value& b, Work& work);

}  // namespace fleetadm::cel
