#include "core/agent/certificates.h"

#include "core/registration/expiry/agent_hops.h"

namespace fleetadm::agent {
namespace expiry = registration::expiry;

void Certificates::hold(const registration::agent::HubSecret& credential) {
  std::vector<expiry::Hop> hops = expiry::credential_hops(credential);
  const std::lock_guard lock(mutex_);
  credential_ = std::move(hops);
}

void Certificates::hold(const std::optional<Bootstrap>& bootstrap, const std::string& cluster) {
  std::vector<expiry::Hop> hops;
  if (bootstrap) hops = expiry::bootstrap_hops(cluster, bootstrap->text);
  const std::lock_guard lock(mutex_);
  bootstrap_ = std::move(hops);
}

std::vector<expiry::Hop> Certificates::judged(Instant now) const {
  std::vector<expiry::Hop> hops;
  {
    const std::lock_guard lock(mutex_);
    hops = credential_;
    hops.insert(hops.end(), bootstrap_.begin(), bootstrap_.end());
  }
  for (expiry::Hop& hop : hops) expiry::judge(hop, {}, now);
  return hops;
}

}  // namespace fleetadm::agent
