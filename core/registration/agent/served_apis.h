// The APIs that a cluster serves, as an AddOnPlacementScore in its namespace on the hub: a score of 1 for each, by which
// placements can require one, on every hub of Open Cluster Management (docs/reference/registration.md#served-apis).
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

/// More than that are not told, so that the object fits any hub.
inline constexpr std::size_t kMostApis = 4000;

/// The status that follows from `before` and what a discovery found. Only a complete one takes anything from the list; one that
/// failed, or could not ask every API, leaves it and says so.
Json served_apis_status(const Json& before, const Result<kube::Discovery>& found, Instant now);

/// Asks the member, and writes where something differs. Whether the list is complete. `cluster`: the ManagedCluster, with which
/// the score goes.
Result<bool> publish_served_apis(const kube::Client& hub, const kube::Client& member, const Json& cluster, Instant now);

}  // namespace fleetadm::registration::agent
