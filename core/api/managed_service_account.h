// ManagedServiceAccount: a ServiceAccount of a managed cluster whose token is kept in a Secret on the hub
// (docs/reference/managed-serviceaccount.md).
#pragma once

#include <string_view>

#include "kubeclient/rest/resource.h"

namespace fleetadm::api {

const kube::Resource& managed_service_accounts();  // authentication.open-cluster-management.io/v1beta1

/// "true" on the ServiceAccounts and on the Secrets that belong to one.
inline constexpr std::string_view kManagedServiceAccountLabel =
    "authentication.open-cluster-management.io/is-managed-serviceaccount";
inline constexpr std::string_view kConditionSecretCreated = "SecretCreated";
inline constexpr std::string_view kConditionTokenReported = "TokenReported";
inline constexpr std::string_view kManagedServiceAccountAddon = "managed-serviceaccount";

}  // namespace fleetadm::api
