// Accepting, denying and forgetting clusters: their grants and the HubAcceptedManagedCluster condition
// (docs/reference/registration.md#acceptance, docs/reference/registration.md#removal-of-a-cluster). Level-triggered; each step
// may be the last before a crash.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/controller/controller.h"
#include "core/registration/hub/grants.h"
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

/// How long the first report of a push member may still say that it is accepted; nullopt: the AcceptanceController says it.
std::optional<Duration> first_report_due(const Json& cluster, Instant now);
/// Of one whose first report is due: says in `cluster` that it is accepted, where the hub has all that the acceptance gives it.
/// False: not yet, or it is refused, which the AcceptanceController says.
Result<bool> accept_at_once(const kube::Client& hub, const std::string& hub_namespace, Json& cluster, Instant now);

class AcceptanceController {
 public:
  /// `dials_members`: the acceptance of a push member is left to its first report, as long as that is due.
  AcceptanceController(Tools tools, std::shared_ptr<kube::Informer> clusters, std::shared_ptr<const Grants> grants,
                       bool dials_members = false)
      : tools_(std::move(tools)), clusters_(std::move(clusters)), grants_(std::move(grants)), dials_members_(dials_members) {}

  /// `key` is the cluster's name.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Result<controller::Outcome> accept(const kube::Client& client, const Json& cluster, const std::stop_token& stop);
  Result<controller::Outcome> deny(const kube::Client& client, const Json& cluster, const std::stop_token& stop);
  Result<controller::Outcome> withdraw(const kube::Client& client, const std::string& name, const std::optional<Json>& cluster,
                                       const std::stop_token& stop);
  Status report(const kube::Client& client, const Json& cluster, std::string_view status, std::string_view reason,
                std::string_view message);

  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<const Grants> grants_;
  bool dials_members_;
};

/// Keeps the two ClusterRoles that all clusters share, while there is a cluster, and removes those of clusters that are gone:
/// many in one request.
class ClusterRolesController {
 public:
  ClusterRolesController(Tools tools, std::shared_ptr<kube::Informer> clusters, std::shared_ptr<kube::Informer> cluster_roles)
      : tools_(std::move(tools)), clusters_(std::move(clusters)), cluster_roles_(std::move(cluster_roles)) {}
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  /// Names of clusters that have a ClusterRole, and no ManagedCluster in the cache.
  std::vector<std::string> gone() const;
  /// `all`: with the shared ones, unless the server has a cluster.
  Status remove(const kube::Client& client, std::vector<std::string> gone, bool all) const;

  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<kube::Informer> cluster_roles_;
};

}  // namespace fleetadm::registration::hub
