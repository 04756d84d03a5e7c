// The clusters of a sandbox as one fleet: init, join and accept, as a person would run them, in one go.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/context.h"

namespace fleetadm::commands {

struct SandboxFleet {
  std::string kubeconfig;             // the sandbox's
  std::string sandbox;                // contexts are <sandbox>-hub, <sandbox>-c1, …
  std::vector<std::string> clusters;  // "c1", …: also their names in the fleet
  bool gateway = false;               // with a gateway on the hub
  bool fresh = false;                 // the clusters were made by this very command, and are empty
};

/// Returns when every cluster is available to the hub. Running it again changes only what differs.
Status join_sandbox(Context& context, const SandboxFleet& fleet);

}  // namespace fleetadm::commands
