#include "core/addon/rules/csr_signing.h"

#include "core/api/certificate_request.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::addon {
namespace {

constexpr auto kSignedFor = std::chrono::hours(24);

Result<std::string> decoded(const Json& secret, std::string_view key) {
  auto value = base64_decode(str(secret, {"data", key}));
  if (!value || value->empty()) {
    return fail(Category::kInvalid, "secret " + namespace_of(secret) + "/" + name_of(secret) + " has no " + std::string(key));
  }
  return std::move(*value);
}

}  // namespace

SigningCa signing_ca(const Json& custom_signer, std::string_view hub_namespace) {
  std::string ns = str(custom_signer, {"signingCA", "namespace"});
  return {ns.empty() ? std::string(hub_namespace) : std::move(ns), str(custom_signer, {"signingCA", "name"})};
}

Result<std::string> sign_addon_request(const Json& csr, const Json& ca_secret, Instant now) {
  pki::KeyPair ca;
  FLEETADM_TRY(ca.certificate, decoded(ca_secret, "tls.crt"));
  FLEETADM_TRY(ca.key, decoded(ca_secret, "tls.key"));
  FLEETADM_TRY(const std::string request, base64_decode(str(csr, {"spec", "request"})));
  return pki::sign_request(ca, request, now, kSignedFor);
}

}  // namespace fleetadm::addon
