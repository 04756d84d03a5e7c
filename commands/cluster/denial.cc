#include "commands/cluster/denial.h"

#include "core/registration/hub/cluster_defaulter.h"
#include "core/registration/hub/lease_rules.h"

namespace fleetadm::commands {

ClusterEdit denial(Instant now) {
  ClusterEdit edit;
  edit.what = "denying";
  edit.done = "denied";
  edit.edit = [](Json& cluster) -> Status {
    if (flag(cluster, {"spec", "hubAcceptsClient"})) at_or_make(cluster, {"spec", "hubAcceptsClient"}) = false;
    return {};
  };
  // A denied cluster cannot renew its lease: minutes later it counts as unreachable, and placements drop it.
  edit.consequence = [now](Json& cluster) {
    registration::hub::set_lease_stopped(cluster, now);
    registration::hub::sync_taints(cluster, now);
  };
  return edit;
}

}  // namespace fleetadm::commands
