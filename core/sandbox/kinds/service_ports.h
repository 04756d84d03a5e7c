// The ports of nodes that services have. Nothing listens on them here; clients see the numbers, and find the same rules.
#pragma once

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

/// Gives a service of type NodePort or LoadBalancer the ports that it leaves out (from 30000 to 32767, none twice), checks those
/// that it asks for, and takes away what goes with a type that it no longer has. `old`: as it was before an update, or nullptr.
/// 422 where a port is out of the range or another service's.
ApiStatus give_node_ports(const StrategyContext& context, Json& service, const Json* old);

}  // namespace fleetadm::sandbox
