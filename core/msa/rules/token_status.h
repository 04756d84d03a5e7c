// What a ManagedServiceAccount's status says, and when its token is replaced
// (docs/reference/managed-serviceaccount.md#the-agent). Pure.
#pragma once

#include <optional>
#include <string>

#include "kubeclient/base/json.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::msa {

/// When the token has to be replaced: after 80 % of its real lifetime. Measured from status.lastRefreshTimestamp, which this
/// side's clock has written, so that a managed cluster whose clock is off does not matter; where the status is of another token,
/// from the token itself.
Instant refresh_at(const Json& object, const TokenClaims& claims, Instant now);

/// The Secret holds this token. `refreshed`: when it was requested, if that was now.
void report_token(Json& object, const TokenClaims& claims, std::optional<Instant> refreshed, Instant now);
/// `secret_lost`: the Secret of that name is not ours; nobody should be pointed to it.
void report_failure(Json& object, const std::string& message, bool secret_lost, Instant now);

}  // namespace fleetadm::msa
