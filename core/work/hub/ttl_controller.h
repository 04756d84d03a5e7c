// Finished works go after their time on the hub: deleteOption.ttlSecondsAfterFinished
// (docs/reference/work.md#deletion-of-a-work).
#pragma once

#include <memory>
#include <optional>

#include "core/controller/controller.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

/// When a work is to go: its Complete condition became True so many seconds before. nullopt: never, or not yet known; works of a
/// set are the set's affair.
std::optional<Instant> end_of_life(const Json& work);

/// Adds the controller "finished-works" (keys: "cluster/name") to `manager`.
void add_finished_works_controller(controller::Manager& manager, const kube::Client& hub,
                                   std::shared_ptr<Clock> clock = Clock::system());

}  // namespace fleetadm::work
