#include "core/registration/agent/rotation.h"

#include <cstdint>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/chain.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::agent {
namespace {

constexpr double kLowest = 0.20;
constexpr double kSpread = 0.05;

int hex_digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

double renewal_threshold(std::string_view certificate_pem) {
  const std::string hash = sha256_hex(certificate_pem);
  std::uint32_t drawn = 0;
  for (std::size_t i = 0; i < 8 && i < hash.size(); ++i) drawn = (drawn << 4) | static_cast<std::uint32_t>(hex_digit(hash[i]));
  return kLowest + kSpread * (static_cast<double>(drawn) / static_cast<double>(UINT32_MAX));
}

void note_authorities(HubSecret& secret, std::string_view former, std::string_view next) {
  const std::string certificate = secret.get(kCertificateKey);
  if (pki::anchor_of(certificate, former) && !pki::anchor_of(certificate, next)) {
    secret.data[kSupersededKey] = sha256_hex(certificate);
  }
}

RenewalPlan plan_renewal(const HubSecret& secret, const pki::Subject& subject, Instant now) {
  const std::string certificate = secret.get(kCertificateKey);
  const std::string key = secret.get(kPrivateKeyKey);
  const auto chain = pki::parse_certificates(certificate);
  if (!chain || key.empty()) return {true, "there is no usable client certificate", {}};
  const pki::CertInfo& leaf = chain->front();
  if (!same_subject(leaf.subject, subject)) return {true, "the client certificate is for another subject", {}};
  if (!pki::key_matches(certificate, key)) return {true, "the client certificate does not belong to the private key", {}};
  if (secret.get(kSupersededKey) == sha256_hex(certificate)) return {true, "the hub has replaced the CA that issued it", {}};
  const Duration total = leaf.not_after - leaf.not_before;
  const auto left = std::chrono::duration_cast<Duration>(total * renewal_threshold(certificate));
  const Instant at = leaf.not_after - left;
  if (now >= at) return {true, "the client certificate expires at " + format_time(leaf.not_after), {}};
  return {false, {}, at};
}

}  // namespace fleetadm::registration::agent
