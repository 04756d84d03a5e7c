// What the agent of a cluster does for the add-ons of its cluster: it tells how they authenticate, obtains their credentials and
// keeps them fresh, and looks after their leases (docs/reference/addon.md#on-the-cluster).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/addon/agent/credentials.h"
#include "core/addon/agent/registrations.h"
#include "core/controller/controller.h"
#include "core/registration/agent/identity.h"

namespace fleetadm::addon::agent {

struct AddonOptions {
  registration::agent::Identity identity;
  registration::agent::Endpoint endpoint;     // of the hub, as the credentials name it
  std::string driver = "csr";                 // or "token"
  std::int64_t token_expiration_seconds = 0;  // 0: the hub's own choice
  Duration check = std::chrono::minutes(5);
};

/// Thread-safe for different add-ons.
class AddonKeeper {
 public:
  /// `hub` as the cluster's agent, `spoke` with rights on secrets and leases of the add-ons' namespaces.
  AddonKeeper(kube::Client hub, kube::Client spoke, AddonOptions options, std::shared_ptr<Clock> clock);

  /// Credentials. `addon`: the ManagedClusterAddOn as cached, nothing where it is gone: then its credentials are deleted. One
  /// that is being deleted keeps them: what it does on the hub before it ends needs them.
  Result<controller::Outcome> keep_credentials(const std::string& name, const std::optional<Json>& addon);
  /// Health, by lease.
  Result<controller::Outcome> keep_health(const std::optional<Json>& addon);
  /// Deletes the credentials in the default namespace that nobody needs any more: while no agent ran, or as one was killed, the
  /// add-on went (`find_addon` does not find it), moved, or lost the registration.
  Status remove_leftovers(const std::function<std::optional<Json>(const std::string& addon)>& find_addon);

 private:
  struct Kept {
    std::string ns;
    std::string secret;
    Progress progress;
  };
  using KeptSecrets = std::map<std::string, Kept>;  // by namespace and name

  controller::Outcome keep_one(const Json& addon, const Registration& registration, const std::string& ns, Progress& progress);
  reg::CertificateOrder order_of(const Json& addon, const Registration& registration) const;
  TokenOrder token_order_of(const Json& addon) const;
  registration::agent::HubSecretStore store(const std::string& ns, const std::string& secret, const std::string& addon) const;
  Status remove(const Kept& kept, const std::string& addon) const;
  void set_condition(const std::string& addon, std::string_view type, std::string_view status, std::string_view reason,
                     const std::string& message) const;

  kube::Client hub_;
  kube::Client spoke_;
  AddonOptions options_;
  std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::map<std::string, KeptSecrets> kept_;  // by add-on
};

}  // namespace fleetadm::addon::agent
