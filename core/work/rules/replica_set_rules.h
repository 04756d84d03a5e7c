// Which works a ManifestWorkReplicaSet wants now: the next step of its rollout. Pure; the hub's controller carries it out, the
// command line shows it.
//
// Done otherwise than upstream, on purpose: works with an older template leave deselected clusters too; a cluster that several
// placements select gets one work (of the first placement in the list); label changes reach every work; a strategy that cannot
// be read touches nothing; while a placement's decisions are fewer than its status says (they may be in the middle of being
// rewritten), nothing is removed and a gradual rollout waits, until they have been at rest; clusters that come after a gradual
// rollout has begun wait until it is over.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/rollout/strategy.h"
#include "core/work/rules/replica_set_revisions.h"
#include "core/work/rules/replica_set_state.h"

namespace fleetadm::work {

/// What is known of a placement that the set refers to.
struct PlacementView {
  bool exists = false;
  std::vector<rollout::Group> groups;  // of all its decisions
  std::int64_t selected = 0;           // status.numberOfSelectedClusters
  std::int64_t status_groups = 0;      // number of status.decisionGroups
  bool decided = false;                // there is a PlacementDecision, with clusters or without
  bool at_rest = false;                // they and the status have been as they are for a while (decision_rest.h)
  std::string problem;                 // a decision that cannot be read

  std::int64_t clusters() const;
  /// The status has been written for at least as many clusters as the decisions name.
  bool agrees() const { return clusters() >= selected && status_groups > 0; }
  /// The decisions are complete: as many as the status says, or whoever writes them leaves the status alone. That there are no
  /// decisions at all, against a status that has some, is never believed.
  bool settled() const { return clusters() >= selected || (decided && at_rest); }
  /// Somebody has decided: the status says so, or there are decisions and no more are being written.
  bool scheduled() const { return status_groups > 0 || (decided && at_rest); }
};
/// From a Placement (null: it does not exist) and the PlacementDecisions with its label. Of those, the ones count that the
/// placement owns, as schedulers write them; where it owns none, those that no placement owns, as people write them.
PlacementView view_placement(const Json* placement, const std::vector<Json>& decisions);

struct WantedWork {
  std::string cluster;
  std::string placement;
};
struct WorkChange {
  OwnedWork work;
  std::string placement;  // its placement label from now on
  bool spec = false;      // the new template; else only labels
};

/// Where a cluster is in the rollout of the present template.
enum class Phase {
  kDone,       // succeeded
  kSoaking,    // succeeded, and is watched a while (minSuccessTime)
  kUnderWay,   // has the template; nothing final is reported
  kFailed,     //
  kTimedOut,   // past its progressDeadline
  kBeginning,  // gets the template in this step
  kWaiting,    // its turn has not come
  kQueued,     // was selected after the rollout had begun: follows when that is over
  kSkipped,    // was there at the beginning and is selected no more
};
std::string_view to_string(Phase phase);

struct ClusterProgress {
  std::string cluster;
  std::string placement;
  rollout::GroupKey group;
  Phase phase = Phase::kWaiting;
  std::optional<Instant> since;
  std::optional<Instant> until;  // deadline, or end of the soak
  std::string why;
  std::string condition;
};

struct PlacementProgress {
  std::string placement;
  std::string error;  // its strategy or decisions cannot be read: its clusters are left as they are
  bool held = false;  // its decisions are being written
  bool gradual = false;
  bool breach = false;  // more failures than are tolerated
  std::optional<rollout::Strategy> strategy;
  std::int64_t works = 0;  // with the present template, after this step
};

struct ReplicaSetPlan {
  std::string missing_placement;   // PlacementDecisionNotFound: nothing else is done
  std::vector<WantedWork> create;  // sorted by cluster
  std::vector<WorkChange> update;  // sorted by cluster
  std::vector<OwnedWork> remove;
  std::map<std::string, std::vector<OwnedWork>> kept;  // by placement: what stays or is updated
  std::vector<PlacementProgress> placements;           // as the set lists them
  std::vector<ClusterProgress> clusters;               // by placement, then cluster
  bool paused = false;
  bool aborted = false;
  bool rolled_out = false;  // every selected cluster has the present template and has succeeded
  bool over = false;        // every cluster that the rollout began with has had its turn, within the limits
  bool failures = false;    // some cluster failed or timed out
  std::optional<Duration> recheck;

  std::size_t count(Phase phase) const;
  bool breach() const;
  std::string error() const;  // the first placement's
};

/// `placements`: by name, one for each of spec.placementRefs. `revision`: of the present template; nullopt where none is recorded
/// yet (a gradual rollout then begins nothing).
ReplicaSetPlan plan_replica_set(const Json& set, const std::map<std::string, PlacementView>& placements,
                                const std::vector<OwnedWork>& works, const std::optional<Revision>& revision, Instant now);

/// What a rollout that begins now begins with; nullopt while some gradual placement cannot be read or is not settled.
std::optional<Members> members_now(const Json& set, const std::map<std::string, PlacementView>& placements);

/// The labels of every work of the set for a placement.
std::map<std::string, std::string> work_labels(const Json& set, const std::string& placement);
/// A new work. Its name is the set's with a suffix of its identity: creating it twice is refused by the server.
Json new_work(const Json& set, const WantedWork& wanted, Instant now);
std::string work_name_of(const Json& set);
/// "<namespace>.<name>".
std::string owner_label_of(const Json& set);
/// Why the owner label is not valid; empty where it is.
std::string owner_label_problem(const Json& set);

}  // namespace fleetadm::work
