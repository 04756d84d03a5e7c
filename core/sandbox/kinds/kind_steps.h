// Steps that the strategies of several kinds share.
#pragma once

#include "core/sandbox/engine/strategy.h"

namespace fleetadm::sandbox {

/// Sets a member that is absent.
inline void set_default(Json& object, Path path, const Json& value) {
  if (find(object, path) == nullptr) at_or_make(object, path) = value;
}

/// Refuses an update of a field that stays as it is (update_rules.h).
ApiStatus check_update(const StrategyContext& context, const Json& object, const Json& old);

Strategy config_map_strategy();
Strategy pod_strategy();
Strategy service_strategy();

}  // namespace fleetadm::sandbox
