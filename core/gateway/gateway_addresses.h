// Where a gateway listens, and where others reach it. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/gateway/gateway.h"

namespace fleetadm::gateway {

/// kUsage: an address that is none, or nobody can tell where it is reached.
Status check_gateway(const GatewayOptions& options);

/// HOST:PORT that clients, and agents, are told to call. `endpoint`: where it listens for them.
std::string client_address(const GatewayOptions& options, const std::string& endpoint);
std::string agent_address(const GatewayOptions& options, const std::string& endpoint);

/// The names and addresses of the options, which its certificate is for.
std::vector<std::string> gateway_hosts(const GatewayOptions& options);

}  // namespace fleetadm::gateway
