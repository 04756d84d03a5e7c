// When what the hub itself stands on ends, for its figures.
#pragma once

#include <memory>

#include "core/controller/controller.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::hub {

/// Adds the controller "certificates", which looks every hour, and its figures to the manager's metrics. `config`: how the hub's
/// API server is reached.
void add_certificates(controller::Manager& manager, const kube::Client& hub, const kube::RestConfig& config,
                      std::shared_ptr<Clock> clock);

}  // namespace fleetadm::hub
