// Whom the hub lets its own account act as at the members that it dials (core/proxy/hub/impersonation.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/proxy/rules/impersonation.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::gateway {

/// Thread-safe.
class PushGrants {
 public:
  explicit PushGrants(kube::Client hub) : hub_(std::move(hub)) {}
  ~PushGrants();
  PushGrants(const PushGrants&) = delete;
  PushGrants& operator=(const PushGrants&) = delete;

  /// Reads them from now on; a hub without members that it dials is not asked.
  void begin();
  /// Waits for a moment until they were read.
  void wait_known(const std::stop_token& stop) const;
  /// Null: that is not known, and the member alone decides.
  std::shared_ptr<const proxy::Impersonation> of(std::string_view cluster) const;

 private:
  const kube::Client hub_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const proxy::Impersonation>, std::less<>> granted_;  // by cluster
  mutable std::mutex beginning_;
  std::shared_ptr<kube::Informer> works_;
};

}  // namespace fleetadm::gateway
