// Taking a cluster out of the fleet: the hub's side (ManagedCluster, its namespace, its requests) and the spoke's side (what the
// agent applied, then the agent). Each step is found again by what is left, so a killed departure is finished by a second run.
#pragma once

#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/install/install.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct DepartureOptions {
  std::string cluster_name;
  /// Do not wait for an agent that is gone: add-ons and works are deleted with whatever finalizers they have.
  bool force = false;
  /// Whatever works applied stays on the cluster and belongs to nobody then, but for that of these (works_of_hub()). Goes with
  /// `force`, and the cluster's side comes first: a hub that takes works back has them removed.
  bool orphan = false;
  std::set<std::string> hub_works = {};
  bool keep_namespace = false;  // the cluster's namespace on the hub
  bool left_hub = false;        // the works went first: in a dry run those that would have been removed are still there
  Duration timeout = std::chrono::minutes(5);
  std::stop_token stop;
  std::function<void(std::string_view)> told;  // progress
};

/// Deletes the ManagedCluster and waits until the hub controllers and the agent have cleaned up, telling what blocks; then the
/// cluster's namespace (only where the hub made it and it holds no works; one that was there before loses the cluster's label and
/// stays) and its certificate requests. It does not wait until the namespace is gone, for which a hub takes five seconds or more:
/// wait_for_namespace() does, when there is nothing else left to do.
Result<std::vector<install::Change>> leave_on_hub(const kube::Client& hub, const DepartureOptions& options);

/// leave_on_hub() in two halves, for a cluster on which something is removed when its works have gone: api::kLeavingFinalizer
/// holds the ManagedCluster from the first half to the end of the second one, so that the hub shows the cluster for as long as
/// it has anything there, or a credential of it. A run that is killed between them is finished by the next.
Result<std::vector<install::Change>> take_works_back(const kube::Client& hub, const DepartureOptions& options);
/// Whether the first half is over, and the second one is not.
Result<bool> works_were_taken_back(const kube::Client& hub, const std::string& cluster_name);
Result<std::vector<install::Change>> forget_on_hub(const kube::Client& hub, const DepartureOptions& options);

/// Blocks until the cluster's namespace is gone where it is being deleted. kTimeout tells what keeps it.
Status wait_for_namespace(const kube::Client& hub, const DepartureOptions& options);

/// Whether the hub has the ManagedCluster, or anything that leave_on_hub() would still remove.
Result<bool> known_on_hub(const kube::Client& hub, const std::string& cluster_name);

/// The works that the agent has applied on this cluster, by the names they have on the hub, sorted.
Result<std::vector<std::string>> applied_work_names(const kube::Client& spoke);

/// What stays on a cluster that the hub gives up without its agent, by the names that it has on the hub, sorted.
struct LeftBehind {
  std::vector<std::string> works;
  std::vector<std::string> addons;
};
Result<LeftBehind> left_behind(const kube::Client& hub, const std::string& cluster_name);

/// Works that add-ons have made, and those by which the hub gives rights for its gateway: nobody's workload, by the names that
/// they have on the hub.
Result<std::set<std::string>> works_of_hub(const kube::Client& hub, const std::string& cluster_name);

/// Deletes an AppliedManifestWork whose agent is gone, with what it owns, or without, which is then left to the garbage
/// collector, too: an agent that was ended in the middle of a round has not written down all that it applied.
Status remove_applied_work(const kube::Client& spoke, const Json& applied_work, const DepartureOptions& options);

/// kConflict where the agent has applied works that nothing removes: options.force does, and so did leave_on_hub().
Status check_no_applied_works(const kube::Client& spoke, const DepartureOptions& options);

/// Removes the agent. kConflict while AppliedManifestWorks are left, unless forced (then the objects they own are removed).
Result<std::vector<install::Change>> leave_on_spoke(const kube::Client& spoke, const DepartureOptions& options);

/// The name under which a cluster joined, from the agent's secret; empty where it did not.
Result<std::string> joined_as(const kube::Client& spoke);

}  // namespace fleetadm::join
