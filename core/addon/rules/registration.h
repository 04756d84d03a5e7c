// What an add-on's agent is told of its registration with the hub, and the rights it gets there: one pass over one
// ManagedClusterAddOn (docs/reference/addon.md#registration).
#pragma once

#include <string>
#include <string_view>

#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

inline constexpr std::string_view kRegistrationApplied = "RegistrationApplied";
inline constexpr std::string_view kPermissionFailed = "SetPermissionFailed";
std::string permission_failure(const Error& error);  // the condition's message

/// Of an add-on with a template: `status.supportedConfigs`, `registrations`, `namespace`, the condition RegistrationApplied, and
/// the RoleBindings of its hub permissions. Left alone: an add-on without a template, under deletion, without its cluster or not
/// owned by its ClusterManagementAddOn. Of an add-on that is gone the bindings outside of its cluster's namespace are deleted.
///
/// kUpstream writes supportedConfigs alone first, and registrations before the rights that depend on them (condition
/// PermissionConfigPending). kStrict needs one pass, and refuses a template whose custom signer is one of Kubernetes' own.
Pass registration_pass(const ObjectReader& objects, std::string_view cluster, std::string_view addon, Instant now,
                       rollout::Semantics conduct);

}  // namespace fleetadm::addon
