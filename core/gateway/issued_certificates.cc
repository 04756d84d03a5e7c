#include "core/gateway/issued_certificates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/api/cluster_proxy.h"
#include "core/gateway/tunnel_signing.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::gateway {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
constexpr std::size_t kHexDigits = 64;

bool is_sha256(std::string_view text) {
  return text.size() == kHexDigits && std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string certificate_sha256(std::string_view pem) {
  const auto begin = pem.find(kBegin);
  if (begin == std::string_view::npos) return {};
  pem.remove_prefix(begin + kBegin.size());
  std::string text(pem.substr(0, pem.find(kEnd)));
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  const auto der = base64_decode(text);
  return der && !der->empty() ? sha256_hex(*der) : std::string();
}

std::optional<IssuedCertificate> read_issued(const Json& request) {
  if (str(request, {"spec", "signerName"}) != api::kProxyAgentSigner) return std::nullopt;
  const std::string cluster = cluster_of_requester(request);
  const auto pem = base64_decode(str(request, {"status", "certificate"}));
  if (cluster.empty() || !pem || pem->empty()) return std::nullopt;
  const auto chain = pki::parse_certificates(*pem);
  if (!chain || chain->empty() || chain->front().subject.common_name != api::kProxyAgentUser) return std::nullopt;
  return IssuedCertificate{certificate_sha256(*pem), cluster, chain->front().not_after};
}

void IssuedCertificates::add(const IssuedCertificate& issued) {
  const std::lock_guard lock(mutex_);
  issued_.try_emplace(issued.sha256, issued);  // a certificate is issued once
  while (issued_.size() > kMost) {
    issued_.erase(std::ranges::min_element(issued_, {}, [](const auto& entry) { return entry.second.expires; }));
  }
}

void IssuedCertificates::load(const Json& config_map) {
  for (const auto& [sha256, text] : strings_at(config_map, {"data"})) {
    const auto space = text.find(' ');
    const auto expires = space == std::string::npos ? std::nullopt : parse_time(text.substr(space + 1));
    if (is_sha256(sha256) && expires && is_dns_label(text.substr(0, space))) add({sha256, text.substr(0, space), *expires});
  }
}

std::map<std::string, std::string> IssuedCertificates::data(Instant now) const {
  std::map<std::string, std::string> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [sha256, issued] : issued_) {
    if (now < issued.expires) out[sha256] = issued.cluster + " " + format_time(issued.expires);
  }
  return out;
}

std::string IssuedCertificates::cluster_of(std::string_view sha256, Instant now) const {
  const std::lock_guard lock(mutex_);
  const auto at = issued_.find(sha256);
  return at != issued_.end() && now < at->second.expires ? at->second.cluster : std::string();
}

}  // namespace fleetadm::gateway
