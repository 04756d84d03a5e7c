// What a hub has on a member that it dials, and the Secret that it keeps of it (docs/reference/registration.md#push-members).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/api/push_member.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct PushIdentity {
  std::string hub_id;
  std::string cluster_id;
  api::MemberNames names = api::MemberNames::kOwn;
};

/// What comes first (PushRoot), and what is owned by it (`owner_uid`; empty: not known yet).
Result<std::vector<Json>> push_root(const PushIdentity& identity, const std::string& cluster);
Result<std::vector<Json>> push_objects(const PushIdentity& identity, const std::string& cluster, const std::string& owner_uid,
                                       bool full_rights);
/// The types that works need there.
Result<std::vector<Json>> push_types();
/// The Secret on the hub.
Json push_secret(const std::string& cluster, const std::string& cluster_id, const std::string& kubeconfig);

/// The kubeconfig in a Secret of the hub; nullopt: there is no such Secret of ours.
Result<std::optional<std::string>> push_kubeconfig(const kube::Client& hub, const std::string& cluster);

}  // namespace fleetadm::join
