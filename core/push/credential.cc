#include "core/push/credential.h"

#include "core/api/push_member.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::push {

Result<Credential> credential_of(const Json& secret) {
  FLEETADM_TRY(const std::string kubeconfig, base64_decode(str(secret, {"data", "kubeconfig"})));
  if (kubeconfig.empty()) return fail(Category::kInvalid, "it has no key \"kubeconfig\"");
  Credential credential;
  FLEETADM_TRY(credential.access, join::member_access(kubeconfig));
  if (credential.access.config.insecure) return fail(Category::kInvalid, "its kubeconfig says insecure-skip-tls-verify");
  credential.cluster_id = annotation_of(secret, api::kClusterIdAnnotation);
  if (credential.cluster_id.empty())
    return fail(Category::kInvalid, "it has no annotation " + std::string(api::kClusterIdAnnotation));
  const auto claims = token_claims(credential.access.credentials.token);
  if (!claims || claims->account != api::kPushAccount)
    return fail(Category::kInvalid, "its token is none of an account " + std::string(api::kPushAccount));
  credential.account_ns = claims->account_namespace;
  return credential;
}

bool leads_to_the_same(const Credential& one, const Credential& other) {
  return one.access.frame == other.access.frame && one.cluster_id == other.cluster_id && one.account_ns == other.account_ns;
}

}  // namespace fleetadm::push
