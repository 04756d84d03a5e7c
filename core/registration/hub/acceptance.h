// Accepting, denying and forgetting clusters: namespace, RBAC and the HubAcceptedManagedCluster condition
// (docs/reference/registration.md#acceptance, docs/reference/registration.md#removal-of-a-cluster). Level-triggered; each step
// may be the last before a crash.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/registration/hub/driver.h"
#include "core/registration/hub/objects.h"

namespace fleetadm::registration::hub {

enum class Acceptance {
  kForget,   // the ManagedCluster is gone: its RBAC goes
  kRelease,  // it is being deleted, and its works are gone: its RBAC goes, then our finalizer
  kAccept,
  kDeny,  // was accepted, is not any more
  kNothing,
};
/// What is to be done about a ManagedCluster (nullopt: it does not exist).
Acceptance decide_acceptance(const std::optional<Json>& cluster);

/// Sets HubAcceptedManagedCluster; true where that changed something.
bool set_accepted(Json& cluster, std::string_view status, std::string_view reason, std::string_view message, Instant now);

class AcceptanceController {
 public:
  struct Caches {
    std::shared_ptr<kube::Informer> clusters;
    std::shared_ptr<kube::Informer> namespaces;             // these carry the cluster label
    std::shared_ptr<kube::Informer> cluster_roles;          //
    std::shared_ptr<kube::Informer> cluster_role_bindings;  //
    std::shared_ptr<kube::Informer> role_bindings;          //
  };
  AcceptanceController(Tools tools, Caches caches, std::string hub_namespace, RegistrationDrivers drivers)
      : tools_(std::move(tools)),
        caches_(std::move(caches)),
        hub_namespace_(std::move(hub_namespace)),
        drivers_(std::move(drivers)) {}

  /// `key` is the cluster's name.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  bool accepted_and_settled(const Json& cluster) const;
  /// The right to tell what the cluster serves, of an agent that tells figures.
  bool figures_settled(const Json& cluster) const;
  Status keep_figures(const kube::Client& client, const Json& cluster) const;
  bool any_rbac_cached(const std::string& name) const;
  Result<controller::Outcome> accept(const kube::Client& client, const Json& cluster, const std::stop_token& stop);
  /// Answers the cluster as it was stored.
  Result<Json> grant(const kube::Client& client, Json cluster, const std::stop_token& stop);
  Result<controller::Outcome> deny(const kube::Client& client, const Json& cluster, const std::stop_token& stop);
  Result<controller::Outcome> withdraw(const kube::Client& client, const std::string& name, const std::optional<Json>& cluster,
                                       const std::stop_token& stop);
  Status report(const kube::Client& client, const Json& cluster, std::string_view status, std::string_view reason,
                std::string_view message);

  Tools tools_;
  Caches caches_;
  std::string hub_namespace_;
  RegistrationDrivers drivers_;
};

/// Keeps the two ClusterRoles that all clusters share, while there is a cluster.
class SharedRolesController {
 public:
  SharedRolesController(Tools tools, std::shared_ptr<kube::Informer> clusters, std::shared_ptr<kube::Informer> cluster_roles)
      : tools_(std::move(tools)), clusters_(std::move(clusters)), cluster_roles_(std::move(cluster_roles)) {}
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<kube::Informer> cluster_roles_;
};

}  // namespace fleetadm::registration::hub
