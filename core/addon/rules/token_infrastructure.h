// What the agent of a cluster needs on the hub to get tokens for an add-on's agent: a ServiceAccount, and the right to ask for
// tokens of this one (docs/reference/addon.md#token-driver).
#pragma once

#include <string>
#include <string_view>

#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

inline constexpr std::string_view kTokenReady = "TokenInfrastructureReady";
// Labels of what is made: the add-on, and "true".
inline constexpr std::string_view kTokenAddonLabel = "addon.open-cluster-management.io/name";
inline constexpr std::string_view kTokenMadeLabel = "addon.open-cluster-management.io/token-infrastructure";

/// ServiceAccount, Role, RoleBinding and the condition TokenInfrastructureReady of an add-on whose first registration with the
/// Kubernetes API has the driver "token". The condition names the uid of the ServiceAccount: it is there in the pass after the
/// one that made it. They are deleted with the add-on, when it is under deletion, and when it has another driver now.
///
/// kUpstream deletes what has the names, whether it is there or not and whoever made it, and lets the cluster subscribe to tokens
/// as well, which its other transport needs.
Pass token_pass(const ObjectReader& objects, std::string_view cluster, std::string_view addon, Instant now,
                rollout::Semantics conduct);

/// The uid that a condition's message names ("ServiceAccount <ns>/<name> (UID: <uid>) is ready"), or an empty text.
std::string uid_in_message(std::string_view message);

}  // namespace fleetadm::addon
