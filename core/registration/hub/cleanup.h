// What a cluster leaves in its namespace goes before it: add-ons, then works, then its grants
// (docs/reference/registration.md#removal-of-a-cluster).
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

/// One round over the objects of one type.
struct CleanupRound {
  std::vector<Json> to_delete;  // those of the lowest priority that are not being deleted yet
  std::size_t remaining = 0;
  std::size_t pending = 0;  // being deleted already: they wait for finalizers
};
/// `items` have metadata. Priority: annotation open-cluster-management.io/cleanup-priority, 0–100, else 0; a later priority
/// waits until the earlier one is gone.
CleanupRound plan_cleanup(const std::vector<Json>& items);
int cleanup_priority(const Json& item);

/// What is left in the namespace of a cluster whose ManagedCluster was removed without its clean-up: its finalizers were taken
/// off. One round deletes its works; those that its agent does not finish within kAgentGrace are released from the agent's
/// finalizer (its objects on the cluster stay). Returns when to look again; nullopt: nothing is left.
Result<std::optional<Duration>> clear_abandoned(const kube::Client& client, const std::string& cluster, Instant now);
inline constexpr Duration kAgentGrace = std::chrono::minutes(1);

class CleanupController {
 public:
  CleanupController(Tools tools, std::shared_ptr<kube::Informer> clusters, std::shared_ptr<const Grants> grants)
      : tools_(std::move(tools)), clusters_(std::move(clusters)), grants_(std::move(grants)) {}
  /// `key` is the cluster's name.
  Result<controller::Outcome> reconcile(const std::string& key, std::stop_token stop);

 private:
  Result<bool> clean(const kube::Client& client, const Json& cluster);
  Status report(const kube::Client& client, const Json& cluster, std::string_view status, std::string_view reason,
                std::string_view message);

  Tools tools_;
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<const Grants> grants_;
};

}  // namespace fleetadm::registration::hub
