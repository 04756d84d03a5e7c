#include "core/msa/rules/token_status.h"

#include <algorithm>

#include "core/api/managed_service_account.h"
#include "core/controller/controller.h"

namespace fleetadm::msa {
namespace {

constexpr double kRefreshShare = 0.8;                              // of a token's lifetime
constexpr auto kLongestLife = std::chrono::hours(24 * 365 * 136);  // no API server gives out more, but anybody may write a Secret

/// When this token was requested, where the status says it.
std::optional<Instant> told_refresh(const Json& object, const TokenClaims& claims, Instant now) {
  if (str(object, {"status", "expirationTimestamp"}) != format_time(claims.expires)) return std::nullopt;
  const auto at = parse_time(str(object, {"status", "tokenSecretRef", "lastRefreshTimestamp"}));
  if (!at || *at > now) return std::nullopt;
  return at;
}

}  // namespace

Instant refresh_at(const Json& object, const TokenClaims& claims, Instant now) {
  const auto used =
      std::min<Duration>(std::chrono::duration_cast<Duration>((claims.expires - claims.issued) * kRefreshShare), kLongestLife);
  return told_refresh(object, claims, now).value_or(claims.issued) + used;
}

void report_token(Json& object, const TokenClaims& claims, std::optional<Instant> refreshed, Instant now) {
  if (!refreshed) refreshed = told_refresh(object, claims, now);
  Json& status = at_or_make(object, {"status"});
  status["expirationTimestamp"] = format_time(claims.expires);
  status["tokenSecretRef"] = {{"name", name_of(object)},
                              {"lastRefreshTimestamp", format_time(refreshed.value_or(claims.issued))}};
  Json& conditions = status["conditions"];
  controller::set_condition(conditions, api::kConditionSecretCreated, "True", "SecretCreated", "", now);
  controller::set_condition(conditions, api::kConditionTokenReported, "True", "TokenReported", "", now);
}

void report_failure(Json& object, const std::string& message, bool secret_lost, Instant now) {
  constexpr std::size_t kLongest = 32768;  // of a condition's message
  if (secret_lost) {
    erase_at(object, {"status", "expirationTimestamp"});
    erase_at(object, {"status", "tokenSecretRef"});
  }
  controller::set_condition(at_or_make(object, {"status", "conditions"}), api::kConditionTokenReported, "False",
                            "TokenReportFailed", message.substr(0, kLongest), now);
}

}  // namespace fleetadm::msa
