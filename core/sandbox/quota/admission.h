// Creations, and updates that take more, are refused where a ResourceQuota of the namespace has no room for them, or where a
// LimitRange does not allow so much (or so little).
#pragma once

#include "core/sandbox/api/engine.h"

namespace fleetadm::sandbox::quota {

/// 403 `pods "x" is forbidden: exceeded quota: …`. What is let through is counted in the quotas' status at once, so that two
/// writers at the same time do not both take the last of it; the quotas' controller puts it right where a write then fails.
ApiStatus admit(Engine& engine, const Admission& write);

}  // namespace fleetadm::sandbox::quota
