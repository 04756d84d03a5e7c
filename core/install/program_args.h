// What the installed programs of a hub are started with, before whatever a user adds.
#pragma once

#include "kubeclient/base/json.h"

namespace fleetadm::install {

Json hub_args();
/// `konnectivity`: in the place of the add-on cluster-proxy's proxy server.
Json gateway_args(bool konnectivity);

}  // namespace fleetadm::install
