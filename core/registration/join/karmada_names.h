// What a hub makes on a member that it dials by the names of a Karmada control plane, in a namespace that others use, too
// (docs/reference/registration.md#karmadas-names).
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/install/install.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// The binding that owns the rest, and the rest (`owner_uid` of the binding; empty: not known yet).
Result<std::vector<Json>> karmada_binding(const std::string& hub_id, const std::string& cluster);
Result<std::vector<Json>> karmada_objects(const std::string& hub_id, const std::string& cluster, const std::string& owner_uid);

/// Whether another manager of the member may have made it instead: the namespace and the account that all use.
bool is_shared_with_karmada(const install::Change& change);

/// kConflict: another manager has the cluster's name there.
tl::unexpected<Error> karmada_name_taken(const std::string& cluster);

/// Waits until the garbage collector has taken what a departure has left to it: it would take it from a new member.
Status wait_for_departed(const kube::Client& member, const std::string& cluster, const std::string& part, Duration timeout,
                         const std::stop_token& stop);

/// Where anything of others is in the namespace, or could be, it and the shared account are left to them, and else they go; the
/// namespace itself goes with the binding.
Result<std::vector<install::Change>> leave_karmada_namespace(const kube::Client& member, const std::string& part);

}  // namespace fleetadm::join
