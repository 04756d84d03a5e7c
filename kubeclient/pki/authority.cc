#include "kubeclient/pki/authority.h"

#include <utility>

#include "kubeclient/base/encoding.h"

namespace fleetadm::pki {
namespace {

constexpr const char* kCertificateKey = "ca.crt";
constexpr const char* kPrivateKey = "ca.key";
constexpr const char* kBundleKey = "ca-bundle.crt";
constexpr std::size_t kMaxBundle = 16 * 1024;

std::string decoded(const Json& secret, const char* key) {
  return base64_decode(str(secret, {"data", key})).value_or(std::string());
}

/// The end of the first certificate; nothing where there is none.
std::optional<CertInfo> first_certificate(const std::string& pem) {
  const auto parsed = parse_certificates(pem);
  if (!parsed) return std::nullopt;
  return parsed->front();
}

}  // namespace

std::optional<Authority> read_authority(const Json& secret) {
  Authority authority{{decoded(secret, kCertificateKey), decoded(secret, kPrivateKey)}, decoded(secret, kBundleKey)};
  const auto certificate = first_certificate(authority.ca.certificate);
  if (!certificate || !certificate->is_ca || !key_matches(authority.ca.certificate, authority.ca.key)) return std::nullopt;
  if (authority.bundle.size() > kMaxBundle || !authority.bundle.starts_with(authority.ca.certificate)) return std::nullopt;
  if (!parse_certificates(authority.bundle)) return std::nullopt;
  return authority;
}

Json authority_data(const Authority& authority) {
  return {{kCertificateKey, base64_encode(authority.ca.certificate)},
          {kPrivateKey, base64_encode(authority.ca.key)},
          {kBundleKey, base64_encode(authority.bundle)}};
}

bool is_due(const std::string& certificate, Instant now, int share) {
  const auto info = first_certificate(certificate);
  return !info || now >= info->not_after - (info->not_after - info->not_before) / share;
}

Result<Authority> renew_authority(const std::optional<Authority>& old, std::string_view common_name, Duration life, Instant now) {
  Authority made;
  FLEETADM_TRY(made.ca, make_ca(common_name, life));
  made.bundle = made.ca.certificate;
  const auto before = old ? first_certificate(old->ca.certificate) : std::nullopt;
  if (before && before->not_after > now) made.bundle += old->ca.certificate;
  return made;
}

Result<KeyPair> issue_serving(const Authority& authority, std::string_view common_name, std::vector<std::string> dns_names,
                              std::vector<std::string> ip_addresses, Duration life) {
  LeafOptions leaf;
  leaf.subject.common_name = common_name;
  leaf.dns_names = std::move(dns_names);
  leaf.ip_addresses = std::move(ip_addresses);
  leaf.server = true;
  leaf.validity = life;
  leaf.backdate = kClocksApart;
  return issue(authority.ca, leaf);
}

}  // namespace fleetadm::pki
