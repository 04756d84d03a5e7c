// The image of fleetadm that a cluster can pull, because it runs it.
#pragma once

#include <string>

#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// That of the hub's Deployment, else of the agent's; where there is neither, or it may not be read, the one that init installs.
std::string installed_image(const kube::Client& cluster);

}  // namespace fleetadm::commands
