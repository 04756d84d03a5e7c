// The placement controller: watches what decides a placement, runs the placements a change can affect, writes the difference.
#pragma once

#include <memory>

#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::placement {

/// Adds the controller and its informers to the manager. `clock` is the time of taints, scores and conditions.
void add_placement_controller(controller::Manager& manager, const kube::Client& hub,
                              std::shared_ptr<Clock> clock = Clock::system());

}  // namespace fleetadm::placement
