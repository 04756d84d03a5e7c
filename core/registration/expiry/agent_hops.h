// What an agent holds that ends some day, as it knows that without asking anybody. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registration/agent/hub_secret.h"
#include "core/registration/expiry/hop.h"

namespace fleetadm::registration::expiry {

/// "agent certificate" and "hub CA of the agent" (of several CAs the one that lasts longest); nothing before the agent has
/// joined.
std::vector<Hop> credential_hops(const agent::HubSecret& secret);

/// "hub CA of the bootstrap" and the bootstrap credential of a kubeconfig, for the cluster.
std::vector<Hop> bootstrap_hops(const std::string& cluster, std::string_view kubeconfig);

}  // namespace fleetadm::registration::expiry
