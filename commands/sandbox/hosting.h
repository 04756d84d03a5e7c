// Programs of fleetadm's image that run inside the sandbox's process instead of as processes of their own.
#pragma once

#include "commands/framework/context.h"
#include "core/sandbox/fleet/nodes.h"

namespace fleetadm::commands {

/// For the nodes of a sandbox: a container that runs a command which can share a process (Invocation::start), with flags that
/// this command has, and in the pod's own cluster, is hosted; all others become processes. `context` must outlive what is hosted.
sandbox::HostOnPool hosting(Context& context);

}  // namespace fleetadm::commands
