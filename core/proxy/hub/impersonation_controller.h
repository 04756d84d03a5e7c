// Gives the agent of each cluster, or the hub's own account where it dials the cluster, the right to act as those who may use
// that cluster through the gateway, as a ManifestWork, for as long as there is a gateway.
#pragma once

#include <string>

#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// Adds the controller "proxy-impersonation" to `manager`. `hub_id`: of a hub that dials members, the uid of its namespace
/// kube-system; empty: it dials none.
void add_impersonation_controller(controller::Manager& manager, const kube::Client& hub, const std::string& hub_id = {});

}  // namespace fleetadm::proxy
