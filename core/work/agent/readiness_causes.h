// Looks at the pods and events of a workload that is not ready, for the reason that its own status does not give.
#pragma once

#include <functional>
#include <string>

#include "core/work/rules/readiness.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

/// Whether the pods of this object say more than `readiness` does: a workload that is not ready for a reason of its pods.
bool has_cause_elsewhere(const Json& object, const Readiness& readiness);

/// `readiness` with the reason of the first pod in trouble, or of the controller's last failure to create one. At most two
/// requests of a bounded number of objects each; `may_list` is asked before each of them ("pods", "events"). Where nothing is
/// found, or may be read, it stays as it is.
Readiness with_cause(const kube::Client& spoke, const Json& object, Readiness readiness,
                     const std::function<bool(const std::string& resource)>& may_list);

}  // namespace fleetadm::work
