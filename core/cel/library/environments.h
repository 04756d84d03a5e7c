// The two environments upstream evaluates CEL in.
#pragma once

#include "core/cel/env.h"

namespace fleetadm::cel {

/// Of cluster selectors: variable managedCluster (map(string, dyn)); scores() needs a ScoreSource as the host.
Result<Env> selector_environment();
/// Of condition rules: variable object (dyn). With `with_result` also result (bool), as message expressions have it.
Result<Env> condition_environment(bool with_result);

/// What upstream's rules take a result for: an optional for what it holds (none: null), a type for its name.
Value taken_as(const Value& result);

}  // namespace fleetadm::cel
