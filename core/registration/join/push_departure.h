// Taking a member that the hub dials out of the fleet: what is of the hub on the member, and the hub's credential.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/api/push_member.h"
#include "core/install/install.h"
#include "core/registration/join/unjoin.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// The member as seen by whoever removes what is there: an administrator, or the hub's own accounts.
struct PushMemberSide {
  kube::Client own;    // may delete the hub's namespace
  kube::Client works;  // may delete what works need
};
/// With the credential that the hub has; nullopt: it has none.
Result<std::optional<PushMemberSide>> push_member_side(const kube::Client& hub, const std::string& cluster,
                                                       const std::function<kube::Client(const kube::RestConfig&)>& connect);

/// By which names the hub is on the member, by the credential that it has; own ones where that does not tell.
Result<api::MemberNames> stored_names(const kube::Client& hub, const std::string& cluster);

/// Removes what works of this hub have applied and still own (nothing, where the hub has removed the works before), the types
/// where nothing needs them, and what owns the hub's accounts and roles (PushRoot), with which they go.
Result<std::vector<install::Change>> leave_push_member(const PushMemberSide& member, const std::string& hub_id,
                                                       const DepartureOptions& options);

/// With options.orphan, before anything else: has the hub's controllers end the works of the member, and waits until they have.
Status let_works_go(const kube::Client& hub, const DepartureOptions& options);
/// Whether that was begun, and the member is still there.
Result<bool> works_were_let_go(const kube::Client& hub, const std::string& cluster);
/// Releases what works of this hub have applied.
Result<std::vector<install::Change>> release_push_works(const PushMemberSide& member, const std::string& hub_id,
                                                        const DepartureOptions& options);

/// Deletes the credential on the hub.
Result<std::vector<install::Change>> drop_push_credential(const kube::Client& hub, const DepartureOptions& options);

}  // namespace fleetadm::join
