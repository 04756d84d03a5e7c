// The Secret on the hub that holds an account's token, and what of the two may be touched
// (docs/reference/managed-serviceaccount.md#the-agent). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::msa {

inline constexpr std::string_view kTokenKey = "token";
inline constexpr std::string_view kAuthorityKey = "ca.crt";

/// The ServiceAccount of a ManagedServiceAccount, as it is created.
Json account_object(const std::string& ns, const std::string& name);
/// kConflict with kNotOurs where it does not have the label: its token is not handed out.
Status check_account(const Json& account);

/// kConflict with kNotOurs where the Secret is not one of a ManagedServiceAccount of that name: it is not overwritten.
Status check_secret(const Json& secret, const Json& object);
/// What the Secret should be; `existing` (or null) is what it was: other labels are kept.
Json secret_object(const Json& existing, const Json& object, const std::string& token, const std::string& authority);

std::string token_in(const Json& secret);
/// The claims of the Secret's token, if it is one of this very account.
std::optional<TokenClaims> claims_for(const Json& secret, const std::string& account_uid);

}  // namespace fleetadm::msa
