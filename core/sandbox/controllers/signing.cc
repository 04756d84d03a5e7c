// Signs approved client certificates (docs/reference/kubernetes-access.md#certificate-requests).
#include <algorithm>
#include <set>

#include "core/sandbox/controllers/controller.h"
#include "core/sandbox/controllers/sign.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kLongest = std::chrono::hours(24 * 365);

bool has_condition(const Json& csr, std::string_view type) {
  for (const Json& one : list_at(csr, {"status", "conditions"})) {
    if (str(one, {"type"}) == type) return true;
  }
  return false;
}

/// Why a request of the signer kube-apiserver-client cannot be signed; empty where it can.
std::string objection(const Json& csr, const pki::CsrInfo& request) {
  const auto usages = string_list_at(csr, {"spec", "usages"});
  static const std::set<std::string> kAllowed = {"digital signature", "key encipherment", "client auth"};
  if (std::find(usages.begin(), usages.end(), "client auth") == usages.end()) return "usages must include client auth";
  if (!std::all_of(usages.begin(), usages.end(), [](const std::string& one) { return kAllowed.contains(one); }))
    return "usages beside client auth, digital signature and key encipherment are not allowed";
  if (!request.signature_valid) return "the request's signature does not match its key";
  return {};
}

}  // namespace

void sync_signing(const ControllerContext& context, const std::string& name) {
  const auto kind = kind_of(context, "certificates.k8s.io", "certificatesigningrequests");
  const auto csr = context.engine.get(*kind, "", name);
  if (!csr || !has_condition(*csr, "Approved") || has_condition(*csr, "Denied") || has_condition(*csr, "Failed")) return;
  if (!str(*csr, {"status", "certificate"}).empty()) return;
  const auto signer = str(*csr, {"spec", "signerName"});
  if (signer != "kubernetes.io/kube-apiserver-client" && signer != "kubernetes.io/kube-apiserver-client-kubelet") return;
  const auto pem = base64_decode(str(*csr, {"spec", "request"}));
  const auto request = pem ? pki::parse_csr(*pem) : Result<pki::CsrInfo>(fail(Category::kInvalid, "no request"));
  const auto now = context.engine.clock().now();
  const auto why = request ? objection(*csr, *request) : std::string("the request cannot be read");
  if (!why.empty()) {
    change(context, *kind, *csr, as_controller("certificate-controller", "status"),
           [&](Json& object) { set_condition(object, "Failed", true, "SignerValidationFailure", why, now); });
    return;
  }
  Duration lifetime = kLongest;
  if (const auto seconds = num(*csr, {"spec", "expirationSeconds"}); seconds > 0)
    lifetime = std::min<Duration>(lifetime, std::chrono::seconds(seconds));
  const auto certificate = sign_client_certificate(context.ca, *pem, lifetime);
  if (!certificate) return;
  change(context, *kind, *csr, as_controller("certificate-controller", "status"), [&](Json& object) {
    at_or_make(object, {"status", "certificate"}) = base64_encode(*certificate);
  });
}

}  // namespace fleetadm::sandbox
