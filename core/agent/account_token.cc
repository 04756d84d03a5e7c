#include "core/agent/account_token.h"

#include "kubeclient/rest/resource.h"

namespace fleetadm::agent {
namespace {

constexpr std::int64_t kLifetimeSeconds = 3600;

}  // namespace

Status AccountToken::renew(const kube::Client& client, const std::string& ns, const std::string& account, Instant now) {
  const std::string whole = ns + "/" + account;
  {
    const std::lock_guard lock(mutex_);
    if (account_ == whole && !token_.empty() && now < renew_at_) return {};
  }
  const Json request{
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", kLifetimeSeconds}}}};
  const auto answer = client.post(kube::resources::service_accounts().path(ns, account, "token"), request, false);
  if (!answer) return fail(answer.error().wrap("cannot request a token of ServiceAccount " + whole));
  std::string token = str(*answer, {"status", "token"});
  const auto expires = parse_time(str(*answer, {"status", "expirationTimestamp"}));
  if (token.empty() || !expires || *expires <= now)
    return fail(Category::kInvalid, "the answer to a TokenRequest for ServiceAccount " + whole + " holds no valid token");
  const std::lock_guard lock(mutex_);
  account_ = whole;
  token_ = std::move(token);
  renew_at_ = now + (*expires - now) / 5 * 4;
  return {};
}

void AccountToken::forget() {
  const std::lock_guard lock(mutex_);
  token_.clear();
}

Result<kube::Credentials> AccountToken::current() {
  const std::lock_guard lock(mutex_);
  if (token_.empty()) return fail(Category::kAuth, "there is no token of the ServiceAccount yet");
  kube::Credentials credentials;
  credentials.token = token_;
  return credentials;
}

}  // namespace fleetadm::agent
