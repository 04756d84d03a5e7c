#include "core/agent/hub_credentials.h"

#include <algorithm>

#include "kubeclient/pki/pki.h"

namespace fleetadm::agent {
namespace reg = registration::agent;

HubCredentials::HubCredentials(const reg::RegistrationDriver& driver) {
  if (!driver.has_certificate()) source_ = driver.credentials();
}

void HubCredentials::set(const reg::HubSecret& secret) {
  if (source_) return;
  const auto chain = pki::parse_certificates(secret.get(reg::kCertificateKey));
  const std::lock_guard lock(mutex_);
  credentials_.client_certificate = secret.get(reg::kCertificateKey);
  credentials_.client_key = secret.get(reg::kPrivateKeyKey);
  if (chain) expires_ = chain->front().not_after;
}

Result<kube::Credentials> HubCredentials::current() {
  if (source_) return *source_ ? (**source_)->current() : tl::unexpected(source_->error());
  const std::lock_guard lock(mutex_);
  return credentials_;
}

Instant HubCredentials::expires() const {
  if (source_) return Instant::max();
  const std::lock_guard lock(mutex_);
  return expires_;
}

void Rejections::note(const std::string& place, const std::optional<Error>& error, Instant now) {
  const std::lock_guard lock(mutex_);
  if (error && error->code == 401) {
    since_.emplace(place, now);
  } else {
    since_.erase(place);
  }
}

bool Rejections::lasting(Instant now, Duration tolerance) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(since_.begin(), since_.end(), [&](const auto& entry) { return now - entry.second >= tolerance; });
}

}  // namespace fleetadm::agent
