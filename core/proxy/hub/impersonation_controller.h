// Sends the agent of each cluster the right to act as those who may use that cluster through the gateway, as a ManifestWork, for
// as long as there is a gateway.
#pragma once

#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// Adds the controller "proxy-impersonation" to `manager`.
void add_impersonation_controller(controller::Manager& manager, const kube::Client& hub);

}  // namespace fleetadm::proxy
