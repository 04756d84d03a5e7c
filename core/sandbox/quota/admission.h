// Creations, and updates that take more, are refused where a ResourceQuota of the namespace has no room for them, or where a
// LimitRange does not allow so much (or so little).
#pragma once

#include "core/sandbox/engine/engine.h"
#include "core/sandbox/quota/pending.h"

namespace fleetadm::sandbox::quota {

/// 403 `pods "x" is forbidden: exceeded quota: …`. What is let through is counted in the quotas' status at once, by compare and
/// swap, so that two writers at the same time do not both take the last of it. Until the write is stored it is among `pending`,
/// by which the quotas' controller does not take it back; the controller puts it right where the write then fails.
ApiStatus admit(Engine& engine, PendingWrites& pending, const Admission& write);

}  // namespace fleetadm::sandbox::quota
