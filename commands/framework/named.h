// Names that a command was given: whether the hub has them.
#pragma once

#include <string>

#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// kNotFound, with the names that are near, where the hub has no such managed cluster. Who may not read clusters is believed.
Status cluster_exists(const kube::Client& hub, const std::string& name);

}  // namespace fleetadm::commands
