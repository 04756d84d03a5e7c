// Plays the agents of clusters that tests and benchmarks have no API servers for.
#pragma once

#include <functional>
#include <string>

#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::testkit {

/// The status that an agent reports of a work that it has applied: every manifest is there and `available` or not, and
/// Deployments that are have their replicas.
Json applied_work_status(const Json& work, bool available = true);

/// Reports every work of an add-on whose present generation its agent has not spoken of, or of which it has another opinion now.
/// The agent of a cluster finds what it applied available where `available` says so.
void report_addon_works(const kube::Client& hub, const std::function<bool(const std::string& cluster)>& available);

}  // namespace fleetadm::testkit
