// join --push: a cluster that the hub dials. The current context is the hub.
#pragma once

#include "commands/fleet/join_options.h"
#include "commands/framework/context.h"
#include "core/registration/join/push_join.h"

namespace fleetadm::commands {

/// The connection to the member, where one is named.
Result<std::optional<kube::RestConfig>> push_member(Context& context, const PushOptions& options);
/// The hub's client, named as such.
Result<kube::Client> push_hub(Context& context);

Result<Report> join_push(Context& context, const JoinOptions& options);

}  // namespace fleetadm::commands
