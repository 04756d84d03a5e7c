// What works have left on a cluster whose agent is gone for good.
#pragma once

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Deletes what an AppliedManifestWork alone owns, as its agent would have. The garbage collector cannot be left to do it: it
/// finds an owner by its type, and that may go before the collector comes to it.
Status remove_owned(const kube::Client& spoke, const Json& applied_work);

}  // namespace fleetadm::join
