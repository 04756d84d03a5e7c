// Names in a placement, or in what refers to one, that must exist on the hub: a typo would silently select nothing, or leave out
// a canary.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// kNotFound, with what may have been meant, where a cluster set does not exist. Where that may not be read, it is noted in
/// `notes`.
Status check_cluster_sets(const kube::Client& hub, const std::vector<std::string>& sets, std::vector<std::string>& notes);

/// kNotFound, with what may have been meant, where the placement has no decision group of one of the names. A placement that does
/// not exist is not this check's business.
Status check_decision_groups(const kube::Client& hub, const std::string& ns, const std::string& placement,
                             const std::vector<std::string>& groups);

}  // namespace fleetadm::commands
