// join --mode hosted: the agent runs on the cluster of the current context, for another one.
#pragma once

#include "commands/fleet/join_file.h"
#include "commands/fleet/join_options.h"
#include "commands/framework/member_side.h"
#include "core/registration/join/preflight.h"

namespace fleetadm::commands {

struct HostedJoin {
  const JoinOptions& options;
  const JoinFile& file;
  const join::HubEndpoint& endpoint;
  const kube::RestConfig& hub;
  const std::vector<std::string>& bootstraps;  // kubeconfigs of all hubs, in order
  const HostedSides& sides;
};

/// After the checks, which `report` tells already.
Result<Report> join_hosted(Context& context, const HostedJoin& join, Report report);

}  // namespace fleetadm::commands
