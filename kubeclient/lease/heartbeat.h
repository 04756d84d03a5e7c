// A Lease by which a process shows that it is alive (docs/reference/addon.md#health).
#pragma once

#include <string>

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

/// Makes the Lease, or sets when it was renewed last. `duration`: how long that counts.
Status renew_heartbeat(const Client& client, const std::string& ns, const std::string& name, std::chrono::seconds duration,
                       Instant now);

}  // namespace fleetadm::kube
