// Whether an add-on's agent is there: the Lease that it renews on the cluster (docs/reference/addon.md#on-the-cluster).
#pragma once

#include <optional>
#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::addon::agent {

inline constexpr Duration kLeaseLook = std::chrono::seconds(30);  // of an add-on that is not available

/// The condition Available without its times: "status", "reason", "message". `lease`: nothing where there is none.
Json lease_condition(const std::optional<Json>& lease, const std::string& addon, Instant now);
/// When to look again: what has just been renewed stays good until its grace is over, whatever its agent does.
Duration lease_look(const std::optional<Json>& lease, Instant now);

}  // namespace fleetadm::addon::agent
