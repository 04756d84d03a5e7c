// What can be read in a token without its issuer: whose it is, for whom, and how long it lasts. The signature is the API server's
// affair.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"

namespace fleetadm {

struct TokenClaims {
  std::string account_namespace;
  std::string account;
  std::string account_uid;
  Instant issued{};
  Instant expires{};
};
/// nullopt: not a token of a ServiceAccount.
std::optional<TokenClaims> token_claims(std::string_view token);

/// Of any JWT.
struct JwtClaims {
  std::vector<std::string> audiences;
  std::optional<Instant> expires;  // nullopt: it does not say so
};
/// nullopt: not a JWT.
std::optional<JwtClaims> jwt_claims(std::string_view token);

}  // namespace fleetadm
