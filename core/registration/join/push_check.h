// Before a cluster becomes a member that the hub dials: its address, TLS, the rights on both sides and who it is. Nothing is
// written (docs/reference/registration.md#push-members).
#pragma once

#include <functional>
#include <string>

#include "core/api/push_member.h"
#include "core/registration/join/hosted_token.h"
#include "core/registration/join/preflight.h"
#include "core/registration/join/push_objects.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct PushSides {
  kube::Client hub;
  kube::Client member;
  kube::RestConfig member_config;  // of the person who joins it; its credentials are never stored
  std::function<kube::Client(const kube::RestConfig&)> connect;
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

}  // namespace fleetadm::join
