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
/// Makes of `objects` what gives works the rights of the member's own role `admin`, where that is not the usual one: made of
/// other roles, or written by hand.
void follow_admin(const Json& admin, std::vector<Json>& objects);
/// The types that works need there.
Result<std::vector<Json>> push_types();
/// The Secret on the hub. `works_as`: api::kWorksAsAnnotation.
Json push_secret(const std::string& cluster, const std::string& cluster_id, const std::string& kubeconfig,
                 const std::string& works_as);

/// What a Secret of the hub says; nullopt: there is no such Secret of ours.
struct PushCredential {
  std::string kubeconfig;
  std::string works_as;
};
Result<std::optional<PushCredential>> push_credential(const kube::Client& hub, const std::string& cluster);

}  // namespace fleetadm::join
