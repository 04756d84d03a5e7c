// Who runs a command, as the server sees it.
#pragma once

#include <string>

#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// Empty where the server does not tell.
std::string caller(const kube::Client& hub);

}  // namespace fleetadm::commands
