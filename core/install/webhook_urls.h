// Where the API server reaches the conversion of types, as an installation finds it.
#pragma once

#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::install {

/// A hub that runs outside of the cluster has put its own URL into the definitions, where the Service may not stand beside it:
/// `objects` are given the URLs of the definitions that `hub` has.
Status keep_webhook_urls(const kube::Client& hub, std::vector<Json>& objects);

}  // namespace fleetadm::install
