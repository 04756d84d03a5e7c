// The Lease by which a hub knows that the add-on's agent lives, where its add-on is looked after by lease
// (docs/reference/addon.md#health).
#pragma once

#include <memory>
#include <string>

#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::msa {

/// Adds the controller "lease", which renews Lease ns/managed-serviceaccount every minute.
void add_health_lease(controller::Manager& manager, const kube::Client& spoke, const std::string& ns,
                      const std::shared_ptr<Clock>& clock = Clock::system());

}  // namespace fleetadm::msa
