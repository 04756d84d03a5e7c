#include "core/push/credential.h"

#include <utility>

#include "core/api/push_member.h"
#include "core/registration/join/push_names.h"
#include "kubeclient/base/encoding.h"

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
  auto account =
      join::push_account_of(credential.access.credentials.token, name_of(secret), annotation_of(secret, api::kWorksAsAnnotation));
  if (!account) {
    return fail(Category::kInvalid, "its token is none of an account " + std::string(api::kPushAccount) + ", nor of " +
                                        std::string(api::kKarmadaNamespace) + "/" + api::karmada_account(name_of(secret)));
  }
  credential.account = std::move(*account);
  return credential;
}

bool leads_to_the_same(const Credential& one, const Credential& other) {
  return one.access.frame == other.access.frame && one.cluster_id == other.cluster_id && one.account == other.account;
}

}  // namespace fleetadm::push
