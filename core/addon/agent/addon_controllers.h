// The controllers of add-ons of a joined agent.
#pragma once

#include <memory>

#include "core/addon/agent/addon_keeper.h"
#include "core/controller/controller.h"

namespace fleetadm::addon::agent {

/// A manager of their own: a hub that does not serve add-ons leaves all else alone.
void add_addon_controllers(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                           const AddonOptions& options, std::shared_ptr<Clock> clock);

}  // namespace fleetadm::addon::agent
