// What an agent does when: it joins, begins a session, or waits. It owns no thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/agent/join.h"
#include "core/agent/runtime.h"
#include "core/agent/session.h"
#include "kubeclient/base/backoff.h"

namespace fleetadm::agent {

/// Not thread-safe: one step at a time.
class Supervisor {
 public:
  /// `wake` asks for a step, on any thread.
  Supervisor(Runtime& runtime, std::function<void()> wake);
  /// Does what is due. The time after which to be called again at the latest; the signals of `runtime` call for it sooner.
  Duration step();

 private:
  /// A join, or the begin of a session. Errors are tried again.
  Result<Duration> turn();
  /// The hub to be with.
  Result<std::optional<Bootstrap>> choose_hub(const registration::agent::Identity& identity,
                                              const registration::agent::HubSecret& stored);
  /// The credential as it is stored then: where the bootstrap kubeconfig names the same hub with another CA, and the hub proves
  /// itself with this one and takes the certificate, only the CA is replaced.
  Result<registration::agent::HubSecret> adopt_ca(const registration::agent::Identity& identity,
                                                  registration::agent::HubSecret stored,
                                                  const registration::agent::Endpoint& hub) const;
  /// The credential as it is stored then: when one of several hubs is left for another, its credential is kept as the former one,
  /// and a former one that the other hub still takes comes back into use, so that nobody has to approve it again.
  Result<registration::agent::HubSecret> change_hub(const registration::agent::Identity& identity,
                                                    registration::agent::HubSecret stored,
                                                    const registration::agent::Endpoint& hub) const;
  Result<registration::agent::HubSecret> keep_identity(const registration::agent::Identity& identity) const;
  Result<Duration> join(const registration::agent::Identity& identity, const Bootstrap& bootstrap, const std::string& why);
  Duration begin_session(const registration::agent::Identity& identity, const registration::agent::HubSecret& stored,
                         const std::optional<Bootstrap>& bootstrap);
  Duration look_after_session();
  /// Until then, or until the bootstrap kubeconfig changes or a certificate request is answered, there is nothing to do.
  Duration pause(Duration length);

  Runtime& runtime_;
  std::function<void()> wake_;
  Signal answered_;  // the certificate request
  Backoff retry_;
  Backoff rejoin_;
  std::string lost_;  // why the stored credential is no good although it looks good
  std::chrono::steady_clock::time_point paused_until_{};
  std::unique_ptr<Joining> joining_;
  std::unique_ptr<Session> session_;
  Instant session_began_{};
};

}  // namespace fleetadm::agent
