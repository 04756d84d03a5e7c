#include "kubeclient/base/token_claims.h"

#include <algorithm>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"

namespace fleetadm {
namespace {

constexpr std::int64_t kLatest = 9'000'000'000;  // seconds since 1970 that an Instant can hold

}  // namespace

std::optional<TokenClaims> token_claims(std::string_view token) {
  const std::size_t begin = token.find('.');
  const std::size_t end = begin == std::string_view::npos ? begin : token.find('.', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  std::string payload(token.substr(begin + 1, end - begin - 1));
  std::replace(payload.begin(), payload.end(), '-', '+');
  std::replace(payload.begin(), payload.end(), '_', '/');
  payload.append((4 - payload.size() % 4) % 4, '=');
  const auto text = base64_decode(payload);
  const auto claims = text ? parse_json(*text) : Result<Json>(fail(Category::kInvalid, "not base64"));
  if (!claims) return std::nullopt;
  TokenClaims read;
  read.account_uid = str(*claims, {"kubernetes.io", "serviceaccount", "uid"});
  const std::int64_t issued = num(*claims, {"iat"});
  const std::int64_t expires = num(*claims, {"exp"});
  if (read.account_uid.empty() || issued < 0 || expires <= issued || expires > kLatest) return std::nullopt;
  read.issued = Instant(std::chrono::seconds(issued));
  read.expires = Instant(std::chrono::seconds(expires));
  return read;
}

}  // namespace fleetadm
