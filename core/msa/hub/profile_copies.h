// Copies of accounts' Secrets in the namespaces of ClusterProfiles, for the programs there
// (docs/reference/managed-serviceaccount.md#clusterprofiles).
#pragma once

#include <memory>

#include "core/controller/controller.h"
#include "kubeclient/events/recorder.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::msa {

/// Adds the controller "profile-copies". Nothing happens before the hub has both kinds.
/// `recorder` (or null): tells of Secrets that are somebody else's, on the ClusterProfile.
void add_profile_copies(controller::Manager& manager, const kube::Client& hub, std::shared_ptr<kube::Recorder> recorder);

}  // namespace fleetadm::msa
