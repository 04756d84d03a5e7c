#include "kubeclient/base/token_claims.h"

#include <algorithm>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"

namespace fleetadm {
namespace {

constexpr std::int64_t kLatest = 9'000'000'000;  // seconds since 1970 that an Instant can hold

std::optional<Json> payload_of(std::string_view token) {
  const std::size_t begin = token.find('.');
  const std::size_t end = begin == std::string_view::npos ? begin : token.find('.', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string payload(token.substr(begin + 1, end - begin - 1));
  std::replace(payload.begin(), payload.end(), '-', '+');
  std::replace(payload.begin(), payload.end(), '_', '/');
  payload.append((4 - payload.size() % 4) % 4, '=');
  const auto text = base64_decode(payload);
  auto claims = text ? parse_json(*text) : Result<Json>(fail(Category::kInvalid, "not base64"));
  return claims ? std::optional(std::move(*claims)) : std::nullopt;
}

}  // namespace

std::optional<TokenClaims> token_claims(std::string_view token) {
  const auto claims = payload_of(token);
  if (!claims) return std::nullopt;
  TokenClaims read;
  read.account_namespace = str(*claims, {"kubernetes.io", "namespace"});
  read.account = str(*claims, {"kubernetes.io", "serviceaccount", "name"});
  read.account_uid = str(*claims, {"kubernetes.io", "serviceaccount", "uid"});
  const std::int64_t issued = num(*claims, {"iat"});
  const std::int64_t expires = num(*claims, {"exp"});
  if (read.account_uid.empty() || issued < 0 || expires <= issued || expires > kLatest) return std::nullopt;
  read.issued = Instant(std::chrono::seconds(issued));
  read.expires = Instant(std::chrono::seconds(expires));
  return read;
}

std::optional<JwtClaims> jwt_claims(std::string_view token) {
  const auto claims = payload_of(token);
  if (!claims || !claims->is_object()) return std::nullopt;
  JwtClaims out;
  // RFC 7519, 4.1.3: a list, or where there is only one, a text.
  const std::string one = str(*claims, {"aud"});
  out.audiences = one.empty() ? string_list_at(*claims, {"aud"}) : std::vector<std::string>{one};
  const std::int64_t expires = num(*claims, {"exp"}, -1);
  if (expires >= 0) out.expires = Instant(std::chrono::seconds(std::min(expires, kLatest)));
  return out;
}

}  // namespace fleetadm
