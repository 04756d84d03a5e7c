// Takes one object away on a departure.
#pragma once

#include <vector>

#include "core/install/install.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Deletes this very object, by its uid, and adds that to `changes`; one that is gone already counts.
Status remove_object(const kube::Client& client, const kube::Resource& type, const Json& object,
                     std::vector<install::Change>& changes, kube::Propagation propagation = kube::Propagation::kBackground);

}  // namespace fleetadm::join
