#include "core/registration/join/member_token.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/token_claims.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/data_only.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::join {
namespace {

/// Of each user that has one.
void set_token(Json& kubeconfig, const std::string& token) {
  if (list_at(kubeconfig, {"users"}).empty()) return;
  for (Json& user : kubeconfig["users"]) {
    if (find(user, {"user", "token"}) != nullptr) user["user"]["token"] = token;
  }
}

}  // namespace

void MemberCredentials::set(kube::Credentials credentials) {
  const std::lock_guard lock(mutex_);
  credentials_ = std::move(credentials);
}

Result<kube::Credentials> MemberCredentials::current() {
  const std::lock_guard lock(mutex_);
  return credentials_;
}

Result<MemberAccess> member_access(const std::string& kubeconfig) {
  FLEETADM_CHECK(kube::check_holds_data_only(kubeconfig));
  FLEETADM_TRY(const kube::Kubeconfig parsed, kube::Kubeconfig::from_text(kubeconfig, "the member's kubeconfig"));
  kube::ConfigOverrides overrides;
  overrides.interactive = false;
  MemberAccess access;
  FLEETADM_TRY(access.config, parsed.resolve(overrides));
  if (access.config.credentials) {
    FLEETADM_TRY(access.credentials, access.config.credentials->current());
  }
  FLEETADM_TRY(Json frame, parse_yaml(kubeconfig));
  set_token(frame, {});
  access.frame = sha256_hex(dump_json(frame));
  return access;
}

std::optional<Instant> renew_token_at(const std::string& token) {
  const auto claims = token_claims(token);
  if (!claims || claims->account.empty()) return std::nullopt;
  return claims->issued + (claims->expires - claims->issued) / 5 * 4;
}

Result<std::string> with_new_token(const std::string& kubeconfig, const kube::Client& member, Instant now) {
  FLEETADM_TRY(const MemberAccess access, member_access(kubeconfig));
  const auto claims = token_claims(access.credentials.token);
  if (!claims) return fail(Category::kInvalid, "its token is none of a ServiceAccount");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(claims->expires - claims->issued).count();
  const Json request{
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", seconds}}}};
  const std::string path = kube::resources::service_accounts().path(claims->account_namespace, claims->account, "token");
  const auto answer = member.post(path, request, false);
  if (!answer) return fail(answer.error().wrap("cannot renew its token"));
  const std::string token = str(*answer, {"status", "token"});
  const auto renewed = token_claims(token);
  if (!renewed || renewed->account_uid != claims->account_uid || renewed->expires <= now)
    return fail(Category::kInvalid, "the answer to a TokenRequest holds no token of the same ServiceAccount");
  FLEETADM_TRY(Json document, parse_yaml(kubeconfig));
  set_token(document, token);
  return dump_yaml(document);
}

}  // namespace fleetadm::join
