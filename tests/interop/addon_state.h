// What a hub has of an add-on, to be held against another hub's. What differs on purpose is left out here, each with its reason.
#pragma once

#include <string>

#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// The list of an add-on's works, those of other clusters' namespaces included.
Json works_of_addon(const KubeServer& hub, const std::string& addon);
/// Declaration, ManagedClusterAddOns, works, rights and accounts of an add-on, without uids and times: JSON text.
std::string addon_state(const KubeServer& hub, const std::string& addon);

}  // namespace fleetadm::testkit
