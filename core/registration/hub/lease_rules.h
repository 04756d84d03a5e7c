// When a cluster counts as gone, and whether its clock agrees with ours: pure
// (docs/reference/registration.md#lease-and-availability).
#pragma once

#include <optional>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::registration::hub {

struct LeaseVerdict {
  bool expired = false;
  Duration look_again = Duration::zero();  // until expiry, or another grace period once expired
};
/// A lease without a readable renewTime is expired. `now` equal to the expiry moment is not yet expired. `seen_at`: when the hub
/// first saw this renewTime; a later renewTime (an agent's clock that is ahead) counts as that moment.
LeaseVerdict judge_lease(const Json& lease, Instant seen_at, Duration grace, Instant now);

/// Available becomes Unknown, and so does Ready where it was told, and of a cluster that has never reported; true where that
/// changed something.
bool set_lease_stopped(Json& cluster, Instant now);
/// Takes Ready away again where a cluster that had never reported does now, and its agent is none that tells Ready itself.
bool forget_never_seen(Json& cluster);

/// `seen_at`: when the hub saw the lease renewed. Out of sync beyond the grace period in either direction, unless the cluster
/// carries the skip annotation. True where the condition changed.
bool set_clock_verdict(Json& cluster, Instant renewed, Instant seen_at, Instant now);

/// spec.renewTime of a Lease.
std::optional<Instant> renew_time(const Json& lease);

}  // namespace fleetadm::registration::hub
