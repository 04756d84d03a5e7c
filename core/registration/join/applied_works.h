// What works have left on a cluster whose agent is gone for good.
#pragma once

#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Deletes what an AppliedManifestWork alone owns, as its agent would have. The garbage collector cannot be left to do it: it
/// finds an owner by its type, and that may go before the collector comes to it.
Status remove_owned(const kube::Client& spoke, const Json& applied_work);

/// Takes the AppliedManifestWork from the owners of what it applied, so that all of it stays.
Status release_owned(const kube::Client& spoke, const Json& applied_work);

/// Those of the agent on the cluster, and not of hubs that dial it; none where the type is not served.
Result<std::vector<Json>> works_of_agent(const kube::Client& spoke);

}  // namespace fleetadm::join
