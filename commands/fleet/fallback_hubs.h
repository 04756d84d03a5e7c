// --fallback-hub of join: further hubs, each by a kubeconfig with a bootstrap token.
#pragma once

#include <string>
#include <vector>

#include "commands/fleet/join_options.h"
#include "core/registration/join/preflight.h"

namespace fleetadm::commands {

struct FallbackHub {
  join::HubEndpoint endpoint;
  std::string kubeconfig;  // self-contained; a secret
};

/// kUsage: a file that holds no token or no kubeconfig, or a hub that is named twice; `first` is the one before them.
Result<std::vector<FallbackHub>> read_fallback_hubs(const JoinOptions& options, const std::string& first);

/// Warns of those that cannot be joined now, as far as this machine sees them: the agent needs them later, and asks itself.
void check_fallback_hubs(Context& context, const std::vector<FallbackHub>& hubs);

}  // namespace fleetadm::commands
