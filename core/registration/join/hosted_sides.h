// The two clusters of a hosted member, before anything is written: whether they can be reached with the rights that are needed,
// and whether the member is what it is said to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registration/join/hosted_manifests.h"
#include "core/registration/join/preflight.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Adds the checks "member cluster" and "hosting cluster" to `into`, and sets its error where one failed.
void check_hosted_sides(const kube::Client& hosting, const std::string& ns, const kube::Client& member, Preflight& into);

/// Hosting::by of a namespace on the hosting cluster.
Result<std::string> hosting_by(const kube::Client& hosting, std::string_view ns);

/// How a cluster is hosted, by what join has written there; nullopt where it is not.
Result<std::optional<Hosting>> hosted_as(const kube::Client& member);

/// A cluster is in one fleet, under one name, with one agent. Joining again as before repairs; kConflict: anything else.
Status check_hostable(const kube::Client& hosting, const std::string& ns, const kube::Client& member, const Hosting& wanted);

/// For an agent that is to run on the cluster itself; kConflict where it is hosted.
Status check_not_hosted(const kube::Client& spoke);

}  // namespace fleetadm::join
