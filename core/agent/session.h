// A joined agent at work: waits until the hub accepts the cluster, then runs the controllers of registration and the work engine
// until the credential is lost, the bootstrap kubeconfig names another hub, or the agent is told to stop.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "core/agent/runtime.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {

/// The client certificate that requests to the hub are made with; replaced on renewal, for new connections.
class HubCredentials final : public kube::CredentialSource {
 public:
  void set(const registration::agent::HubSecret& secret);
  Result<kube::Credentials> current() override;
  bool refresh() override { return false; }
  /// When the first certificate of the chain ends.
  Instant expires() const;

 private:
  mutable std::mutex mutex_;
  kube::Credentials credentials_;
  Instant expires_{};
};

/// How long the hub has refused the credential (401), seen from several places. Thread-safe.
class Rejections {
 public:
  /// What one place saw last.
  void note(const std::string& place, const std::optional<Error>& error, Instant now);
  bool lasting(Instant now, Duration tolerance) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Instant> since_;
};

struct SessionEnd {
  enum class Why { kStopped, kBootstrapChanged, kCredentialLost, kLookAgain };
  Why why = Why::kStopped;
  std::string detail;
};

/// At a time, of the agent's pool. It has as many as both together, so that works that hang do not delay the lease.
inline constexpr int kRegistrationThreads = 3;
inline constexpr int kWorkThreads = 4;

/// `bootstrap`: as read when the session begins, where there is one. Errors: the credential cannot be used at all.
Result<SessionEnd> run_session(Runtime& runtime, const registration::agent::Identity& identity,
                               const registration::agent::HubSecret& secret, const std::optional<Bootstrap>& bootstrap,
                               std::stop_token stop);

}  // namespace fleetadm::agent
