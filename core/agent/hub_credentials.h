// As whom a joined agent asks its hub, and whether the hub still takes that.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/registration/agent/driver.h"
#include "core/registration/agent/hub_secret.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::agent {

/// What requests to the hub are made with: the client certificate, replaced on renewal, for new connections, or what the driver
/// has instead.
class HubCredentials final : public kube::CredentialSource {
 public:
  explicit HubCredentials(const registration::agent::RegistrationDriver& driver);
  void set(const registration::agent::HubSecret& secret);
  Result<kube::Credentials> current() override;
  bool refresh() override { return source_ && *source_ && (**source_)->refresh(); }
  bool blocks() const override { return source_ && *source_ && (**source_)->blocks(); }
  /// When the first certificate of the chain ends.
  Instant expires() const;

 private:
  std::optional<Result<std::shared_ptr<kube::CredentialSource>>> source_;  // of an agent without a certificate
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

}  // namespace fleetadm::agent
