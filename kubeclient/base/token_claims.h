// What can be read in a ServiceAccount token without its issuer: whose it is and how long it lasts. The signature is the API
// server's affair.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/clock.h"

namespace fleetadm {

struct TokenClaims {
  std::string account_uid;
  Instant issued{};
  Instant expires{};
};
/// nullopt: not a token of a ServiceAccount.
std::optional<TokenClaims> token_claims(std::string_view token);

}  // namespace fleetadm
