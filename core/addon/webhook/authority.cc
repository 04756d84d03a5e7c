#include "core/addon/webhook/authority.h"

#include <utility>

#include "kubeclient/base/encoding.h"

namespace fleetadm::addon {
namespace {

constexpr const char* kCertificateKey = "ca.crt";
constexpr const char* kPrivateKey = "ca.key";
constexpr const char* kBundleKey = "ca-bundle.crt";
constexpr std::size_t kMaxBundle = 16 * 1024;

std::string decoded(const Json& secret, const char* key) {
  return base64_decode(str(secret, {"data", key})).value_or(std::string());
}

/// The end of the first certificate; nothing where there is none.
std::optional<pki::CertInfo> first_certificate(const std::string& pem) {
  const auto parsed = pki::parse_certificates(pem);
  if (!parsed) return std::nullopt;
  return parsed->front();
}

}  // namespace

std::optional<WebhookAuthority> read_authority(const Json& secret) {
  WebhookAuthority authority{{decoded(secret, kCertificateKey), decoded(secret, kPrivateKey)}, decoded(secret, kBundleKey)};
  const auto certificate = first_certificate(authority.ca.certificate);
  if (!certificate || !certificate->is_ca || !pki::key_matches(authority.ca.certificate, authority.ca.key)) return std::nullopt;
  if (authority.bundle.size() > kMaxBundle || !authority.bundle.starts_with(authority.ca.certificate)) return std::nullopt;
  if (!pki::parse_certificates(authority.bundle)) return std::nullopt;
  return authority;
}

Json authority_data(const WebhookAuthority& authority) {
  return {{kCertificateKey, base64_encode(authority.ca.certificate)},
          {kPrivateKey, base64_encode(authority.ca.key)},
          {kBundleKey, base64_encode(authority.bundle)}};
}

bool is_due(const std::string& certificate, Instant now) {
  const auto info = first_certificate(certificate);
  return !info || now >= info->not_after - (info->not_after - info->not_before) / 5;
}

Result<WebhookAuthority> renew_authority(const std::optional<WebhookAuthority>& old, Instant now) {
  WebhookAuthority made;
  FLEETADM_TRY(made.ca, pki::make_ca("fleetadm-hub-webhook-ca", kAuthorityLife));
  made.bundle = made.ca.certificate;
  const auto before = old ? first_certificate(old->ca.certificate) : std::nullopt;
  if (before && before->not_after > now) made.bundle += old->ca.certificate;
  return made;
}

Result<pki::KeyPair> issue_serving(const WebhookAuthority& authority, std::vector<std::string> dns_names,
                                   std::vector<std::string> ip_addresses) {
  pki::LeafOptions leaf;
  leaf.subject.common_name = "fleetadm-hub-webhook";
  leaf.dns_names = std::move(dns_names);
  leaf.ip_addresses = std::move(ip_addresses);
  leaf.server = true;
  leaf.validity = kServingLife;
  return pki::issue(authority.ca, leaf);
}

}  // namespace fleetadm::addon
