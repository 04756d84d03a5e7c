// Keeps a joined agent's client certificate fresh and its secret whole (docs/reference/registration.md#certificates).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/agent/issuance.h"
#include "core/registration/agent/rotation.h"

namespace fleetadm::registration::agent {

/// The condition that tells of rotations, and its reasons.
inline constexpr std::string_view kCertificateRotated = "ClusterCertificateRotated";
inline constexpr std::string_view kCertificateUpdated = "ClientCertificateUpdated";
inline constexpr std::string_view kCertificateUpdateFailed = "ClientCertificateUpdateFailed";

class CertificateKeeper {
 public:
  struct Options {
    Identity identity;
    Endpoint endpoint;
    RequestOptions request;
    Duration check = std::chrono::minutes(5);  // how often the secret is looked at when nothing is due
    /// Whether changes of the secret are told by changed() now: then it is not read for nothing. Empty: they are not.
    std::function<bool()> told;
  };
  /// `renewed` is told every credential that the secret holds and that differs from the last one told.
  CertificateKeeper(kube::Client hub, HubSecretStore store, Options options, std::shared_ptr<Clock> clock,
                    std::function<void(const HubSecret&)> renewed);

  /// One round. `accepted`: the hub lets this agent renew (without that a renewal waits). Errors of reading the spoke only; what
  /// the hub refuses goes into the ManagedCluster's condition and is tried again.
  Result<controller::Outcome> reconcile(bool accepted);
  /// The secret may be another one. Any thread.
  void changed() { changed_ = true; }

 private:
  Result<controller::Outcome> renew(const RenewalPlan& plan);
  Status repair(const HubSecret& secret);
  void tell(const HubSecret& secret);
  void report(std::string_view status, std::string_view reason, const std::string& message);

  kube::Client hub_;
  HubSecretStore store_;
  Options options_;
  std::shared_ptr<Clock> clock_;
  std::function<void(const HubSecret&)> renewed_;
  std::atomic<bool> changed_ = true;
  std::optional<Instant> settled_;  // until when nothing is due, by the secret as it was read last
  std::string told_;                // certificate last told
  int waits_ = 0;                   // rounds that the running request has waited
};

/// "client certificate rotated starting from 2026-11-21 18:14:19 +0000 UTC to …".
std::string rotated_message(Instant not_before, Instant not_after);

}  // namespace fleetadm::registration::agent
