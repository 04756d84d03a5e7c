// Which works a ManifestWorkReplicaSet wants, and what its status says. Pure.
//
// Done otherwise than upstream, on purpose: works with an older template leave deselected clusters too; a cluster that several
// placements select gets one work (of the first placement in the list); label changes reach every work; a work counts as rolled
// out when it is Applied, where no rule of the template defines Progressing; nothing is removed while a placement's decisions
// are fewer than its status says (they are being rewritten).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::work {

/// A work of the set, as the cache keeps it.
struct OwnedWork {
  std::string ns;  // the cluster
  std::string name;
  std::string uid;
  std::string placement;  // its placement label
  std::map<std::string, std::string> labels;
  std::string spec_hash;  // work_spec_hash() of its spec
  std::string created;    // creationTimestamp
  std::int64_t generation = 0;
  bool deleting = false;
  Json conditions = Json::array();
};

/// Hash of a work's spec or a template, creationTimestamps of the manifests left out.
std::string work_spec_hash(const Json& spec);

/// What is known of a placement that the set refers to.
struct PlacementView {
  bool exists = false;
  std::vector<std::string> clusters;  // of all its decisions
  std::int64_t selected = 0;          // status.numberOfSelectedClusters
  std::int64_t groups = 0;            // number of status.decisionGroups

  /// The decisions are complete: as many as the status says, or more.
  bool settled() const { return static_cast<std::int64_t>(clusters.size()) >= selected; }
};

struct WantedWork {
  std::string cluster;
  std::string placement;
};
struct WorkChange {
  OwnedWork work;
  std::string placement;  // its placement label from now on
};

struct ReplicaSetPlan {
  std::string missing_placement;   // PlacementDecisionNotFound: nothing else is done
  std::string refusal;             // a rollout strategy that is not supported: its placement is left as it is
  std::vector<WantedWork> create;  // sorted by cluster
  std::vector<WorkChange> update;  // the spec or labels differ
  std::vector<OwnedWork> remove;
  std::map<std::string, std::vector<OwnedWork>> kept;  // by placement: what stays or is updated
  std::map<std::string, std::int64_t> created_for;     // by placement
};

/// `placements`: by name, one for each of spec.placementRefs.
ReplicaSetPlan plan_replica_set(const Json& set, const std::map<std::string, PlacementView>& placements,
                                const std::vector<OwnedWork>& works);

/// The labels of every work of the set for a placement.
std::map<std::string, std::string> work_labels(const Json& set, const std::string& placement);
/// A new work. Its name is the set's with a suffix of its identity: creating it twice is refused by the server.
Json new_work(const Json& set, const WantedWork& wanted);
std::string work_name_of(const Json& set);
/// "<namespace>.<name>".
std::string owner_label_of(const Json& set);
/// Why the owner label is not valid; empty where it is.
std::string owner_label_problem(const Json& set);

/// status after the round: conditions, placementSummary, summary.
Json replica_set_status(const Json& set, const ReplicaSetPlan& plan, const std::map<std::string, PlacementView>& placements,
                        Instant now);
/// status of a set whose owner label is not valid.
Json invalid_name_status(const Json& set, const std::string& problem, Instant now);

}  // namespace fleetadm::work
