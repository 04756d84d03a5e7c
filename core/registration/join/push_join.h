// A member that the hub dials: the checks before anything is written, and what join writes on both sides
// (docs/reference/registration.md#push-members).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/push_member.h"
#include "core/install/install.h"
#include "core/registration/join/hosted_token.h"
#include "core/registration/join/preflight.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct PushSides {
  kube::Client hub;
  kube::Client member;
  kube::RestConfig member_config;  // of the person who joins it; its credentials are never stored
  std::function<kube::Client(const kube::RestConfig&)> connect;
};

struct PushIdentity {
  std::string hub_id;
  std::string cluster_id;
  api::MemberNames names = api::MemberNames::kOwn;
};

struct PushChecked : Preflight {
  PushIdentity identity;
  MemberWay way;
};

/// Address, TLS, rights on both sides and identity, in this order; what depends on a failed check is skipped. Nothing is written.
/// `names` holds where the hub has none on the member yet: Karmada's, once there, stay until the cluster leaves.
PushChecked check_push(const PushSides& sides, const std::string& cluster, bool allow_loopback, api::MemberNames names);

/// kConflict where the cluster is a member of this hub under another name, or the name is another cluster's.
Status check_push_identity(const PushSides& sides, const PushIdentity& identity, const std::string& cluster);

/// What comes first (PushRoot), and what is owned by it (`owner_uid`; empty: not known yet).
Result<std::vector<Json>> push_root(const PushIdentity& identity, const std::string& cluster);
Result<std::vector<Json>> push_objects(const PushIdentity& identity, const std::string& cluster, const std::string& owner_uid,
                                       bool full_rights);
/// The types that works need there.
Result<std::vector<Json>> push_types();
/// The Secret on the hub.
Json push_secret(const std::string& cluster, const std::string& cluster_id, const std::string& kubeconfig);

struct PushWish {
  std::string cluster;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  Duration token_lifetime = std::chrono::hours(7 * 24);
  bool full_rights = false;  // of works; given once, they stay until the cluster leaves; with Karmada's names always
};

/// Writes both sides; what was made is told in `changes` even where it fails, and then nothing of it is left unless `left` names
/// it. A dry run reads and writes nothing.
Status push_join(const PushSides& sides, const PushChecked& checked, const PushWish& wish, const install::Options& how,
                 const Clock& clock, std::vector<install::Change>& changes, std::vector<std::string>& left);

/// The kubeconfig in a Secret of the hub; nullopt: there is no such Secret of ours.
Result<std::optional<std::string>> push_kubeconfig(const kube::Client& hub, const std::string& cluster);

}  // namespace fleetadm::join
