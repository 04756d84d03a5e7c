// Real API servers for one test after the other: a start takes seconds, mostly of the processor. Where a test has only written
// to its servers, the next one of this process that asks for the same gets them as they were at their start (server_reset.h).
// Not so where one had options that are not plain (KubeServerOptions::fresh, a network of its own, …), or was frozen or given
// another CA.
#pragma once

#include <memory>
#include <vector>

#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {

/// As KubeServer::start_all.
Result<std::vector<std::unique_ptr<KubeServer>>> take_servers(std::vector<KubeServerOptions> options);
/// Whoever was connected to it must have ended.
void give_back(std::unique_ptr<KubeServer> server);

}  // namespace fleetadm::testkit
