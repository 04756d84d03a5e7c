// What the hub has about an add-on on its clusters, read for people.
#pragma once

#include <map>

#include "commands/addon/chain.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// One for each cluster, by name: `clusters`, or where there are none those that have the add-on or are to have it. Requests that
/// the caller may not list count as none.
Result<std::vector<AddonFacts>> addon_facts(const kube::Client& hub, const std::string& addon,
                                            const std::vector<std::string>& clusters);

}  // namespace fleetadm::commands
