// ManifestWorkReplicaSet on the hub: one ManifestWork for each cluster that its placements select
// (docs/reference/work.md#replica-sets).
#pragma once

#include <memory>
#include <string>

#include "core/controller/controller.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

/// Adds the controller "work-replica-set" (keys: "namespace/name") to `manager`; with `only`, for that one set.
void add_replica_set_controller(controller::Manager& manager, const kube::Client& hub,
                                std::shared_ptr<Clock> clock = Clock::system(), std::string only = {});

}  // namespace fleetadm::work
