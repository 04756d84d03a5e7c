// The token of a ServiceAccount of the cluster, as which the agent does what that account may.
#pragma once

#include <mutex>
#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::agent {

/// Thread-safe.
class AccountToken final : public kube::CredentialSource {
 public:
  /// Gets another one where there is none, where it is another account's, and with a fifth of its lifetime left.
  Status renew(const kube::Client& client, const std::string& ns, const std::string& account, Instant now);
  /// It is not taken any more: the account may have been replaced.
  void forget();

  Result<kube::Credentials> current() override;
  bool refresh() override { return false; }

 private:
  mutable std::mutex mutex_;
  std::string account_;  // "ns/name"
  std::string token_;
  Instant renew_at_{};
};

}  // namespace fleetadm::agent
