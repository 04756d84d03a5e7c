// What an accepted cluster has on the hub: its namespace, the roles and bindings of its identity, and what its way of
// registering needs (docs/reference/registration.md#acceptance). Given and taken back step by step; each step may be the last
// before a crash.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/registration/hub/driver.h"
#include "core/registration/hub/objects.h"

namespace fleetadm::registration::hub {

class Grants {
 public:
  struct Caches {  // of what carries the cluster label
    std::shared_ptr<kube::Informer> namespaces;
    std::shared_ptr<kube::Informer> cluster_roles;
    std::shared_ptr<kube::Informer> cluster_role_bindings;
    std::shared_ptr<kube::Informer> role_bindings;
  };
  Grants(Tools tools, Caches caches, std::string hub_namespace, RegistrationDrivers drivers)
      : tools_(std::move(tools)),
        caches_(std::move(caches)),
        hub_namespace_(std::move(hub_namespace)),
        drivers_(std::move(drivers)) {}

  /// Why a cluster of this name gets nothing; empty where it may.
  std::string refusal(const std::string& name) const;
  /// True where the caches have all that an accepted cluster is given.
  bool complete(const Json& cluster) const;
  /// True where the caches have anything that a cluster of this name was given, but for its ClusterRole.
  bool any(const std::string& name) const;

  Status give(const kube::Client& client, const Json& cluster, const std::stop_token& stop) const;
  /// The right to tell what the cluster serves, of an agent that tells figures.
  Status keep_figures(const kube::Client& client, const Json& cluster) const;
  /// Leaves a cluster that is denied the right to read its ManagedCluster. False while the works that it takes back need the
  /// work binding.
  Result<bool> restrict(const kube::Client& client, const Json& cluster, const std::stop_token& stop) const;
  /// Takes all back but the ClusterRole, which nothing binds any more (ClusterRolesController). nullopt: nothing is left;
  /// otherwise when to look again for works. `cluster` is nullopt where the ManagedCluster is gone.
  Result<std::optional<Duration>> take_back(const kube::Client& client, const std::string& name,
                                            const std::optional<Json>& cluster, const std::stop_token& stop) const;

 private:
  bool figures_complete(const Json& cluster) const;
  Status remove_bindings(const kube::Client& client, const std::string& name) const;

  Tools tools_;
  Caches caches_;
  std::string hub_namespace_;
  RegistrationDrivers drivers_;
};

}  // namespace fleetadm::registration::hub
