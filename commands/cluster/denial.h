// What `cluster deny` and `reject` make of a ManagedCluster.
#pragma once

#include "commands/cluster/edit.h"

namespace fleetadm::commands {

/// hubAcceptsClient is false; a cluster that never was accepted stays as it is.
ClusterEdit denial(Instant now);

}  // namespace fleetadm::commands
