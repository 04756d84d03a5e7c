// Joining: from a bootstrap kubeconfig to a stored client certificate (docs/reference/registration.md#joining).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/agent/runtime.h"
#include "core/registration/agent/issuance.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {

/// Registers the cluster and requests a certificate with the bootstrap identity, step by step.
class Joining {
 public:
  /// `wake` is called, on any thread, when the certificate request is answered or gone.
  Joining(Runtime& runtime, registration::agent::Identity identity, Bootstrap bootstrap, std::function<void()> wake);
  ~Joining();
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

  /// Whether this is still what has to be done.
  bool is_for(const registration::agent::Identity& identity, const Bootstrap& bootstrap) const;
  /// Goes as far as it can without waiting. Nothing: the credential is stored. Else the time after which to call again where
  /// nothing wakes. Errors: the hub or the spoke failed.
  Result<std::optional<Duration>> step();

 private:
  void watch_answer(const std::string& request);

  Runtime& runtime_;
  registration::agent::Identity identity_;
  Bootstrap bootstrap_;
  std::function<void()> wake_;
  kube::Client hub_;
  std::optional<Instant> registered_;
  std::string watched_;  // a certificate request
  std::shared_ptr<kube::Informer> answers_;
};

/// How often a cluster that waits is registered again: it may have been deleted on the hub.
inline constexpr auto kRegisterAgain = std::chrono::minutes(5);

/// The ManagedCluster of this agent, created where the bootstrap identity may; refusals (401, 403) are only logged, as an
/// administrator may create it too. `hub`: as the bootstrap identity.
Status register_cluster(const Runtime& runtime, const kube::Client& hub, const registration::agent::Identity& identity);

}  // namespace fleetadm::agent
