#include "core/registration/agent/rotation.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "kubeclient/base/backoff.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/chain.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::agent {
namespace {

constexpr double kLowest = 0.20;
constexpr double kSpread = 0.05;

constexpr Duration kFirstAgain = std::chrono::minutes(10);
constexpr Duration kLongestAgain = std::chrono::hours(12);
constexpr int kMostAgain = 8;

/// What stands under kSupersededKey: "HASH", or "HASH TIMES SINCE" of a certificate that was issued by a CA that goes in spite of
/// having been asked for on that account.
struct Superseded {
  std::string hash;
  int times = 0;
  Instant since{};

  static Superseded parse(std::string_view text) {
    Superseded parsed;
    std::istringstream words{std::string(text)};
    std::string since;
    words >> parsed.hash >> parsed.times >> since;
    const auto at = parse_time(since);
    if (!at) return {parsed.hash, 0, {}};
    parsed.since = *at;
    return parsed;
  }
  std::string text() const { return hash + " " + std::to_string(times) + " " + format_time(since); }
  Instant due() const { return times == 0 ? since : since + backoff_delay(kFirstAgain, kLongestAgain, times); }
};

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

void put_certificate(HubSecret& secret, const std::string& certificate, const std::string& key, Instant now) {
  const auto former = Superseded::parse(secret.get(kSupersededKey));
  const bool was_superseded = former.hash == sha256_hex(secret.get(kCertificateKey));
  secret.data[kCertificateKey] = certificate;
  secret.data[kPrivateKeyKey] = key;
  secret.data.erase(kSupersededKey);
  const auto hub = endpoint_of(secret.get(kKubeconfigKey));
  if (!was_superseded || former.times >= kMostAgain || !hub || pki::anchor_of(certificate, hub->ca_pem)) return;
  secret.data[kSupersededKey] = Superseded{sha256_hex(certificate), former.times + 1, now}.text();
}

RenewalPlan plan_renewal(const HubSecret& secret, const pki::Subject& subject, Instant now) {
  const std::string certificate = secret.get(kCertificateKey);
  const std::string key = secret.get(kPrivateKeyKey);
  const auto chain = pki::parse_certificates(certificate);
  if (!chain || key.empty()) return {true, "there is no usable client certificate", {}};
  const pki::CertInfo& leaf = chain->front();
  if (!same_subject(leaf.subject, subject)) return {true, "the client certificate is for another subject", {}};
  if (!pki::key_matches(certificate, key)) return {true, "the client certificate does not belong to the private key", {}};
  const Duration total = leaf.not_after - leaf.not_before;
  const auto left = std::chrono::duration_cast<Duration>(total * renewal_threshold(certificate));
  Instant at = leaf.not_after - left;
  if (const auto superseded = Superseded::parse(secret.get(kSupersededKey)); superseded.hash == sha256_hex(certificate)) {
    if (now >= superseded.due()) return {true, "the hub has replaced the CA that issued it", {}};
    at = std::min(at, superseded.due());
  }
  if (now >= at) return {true, "the client certificate expires at " + format_time(leaf.not_after), {}};
  return {false, {}, at};
}

}  // namespace fleetadm::registration::agent
