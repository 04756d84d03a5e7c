// A rollout as the hub's objects tell it now, read live and judged by the same rules that the hub's controller goes by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/work/rules/replica_set_rules.h"
#include "core/work/rules/replica_set_status.h"

namespace fleetadm::commands {

/// "NAME" or "NAMESPACE/NAME" of a ManifestWorkReplicaSet.
struct RolloutName {
  std::string ns;
  std::string name;
};
Result<RolloutName> rollout_name(Context& context, const std::string& text);

struct RolloutView {
  Json set;
  std::map<std::string, work::PlacementView> placements;
  std::vector<work::OwnedWork> works;
  std::map<std::string, Json> live;        // cluster → its work with the present template, with its status
  std::vector<work::Revision> revisions;   // ascending
  std::optional<work::Revision> revision;  // of the present template
  work::ReplicaSetPlan plan;
};

/// What the hub has of a set.
struct RolloutObjects {
  Json set;
  std::vector<Json> placements;  // of the set's namespace; more than it names do no harm, nor in the next
  std::vector<Json> decisions;
  std::vector<Json> revisions;
  std::vector<Json> works;  // as project_rollout_work() leaves them
};
/// Drops from a work what no rollout asks for.
void project_rollout_work(Json& work);
RolloutView view_of(RolloutObjects objects, Instant now);

/// kNotFound with a hint where there is no such set.
Result<Json> read_set(const kube::Client& hub, const RolloutName& name);
/// The same of a set that is at hand, and need not be on the hub.
Result<RolloutView> view_rollout(const kube::Client& hub, Json set, Instant now);
Result<RolloutView> read_rollout(const kube::Client& hub, const RolloutName& name, Instant now);
Result<std::vector<work::Revision>> read_revisions(const kube::Client& hub, const Json& set);

/// How a rollout stands, as exit codes tell it.
enum class RolloutState { kDone, kRunning, kFailed, kPartial, kTimedOut, kPaused, kAborted };
RolloutState state_of(const work::ReplicaSetPlan& plan);
std::string_view to_string(RolloutState state);
/// 0 done, 1 failed or aborted, 3 over with tolerated failures, 6 timed out, 7 paused, 8 under way.
int exit_code_of(RolloutState state);

/// The manifest that keeps a cluster from being done: "Deployment web/page: message"; empty where the work does not tell.
std::string blocking_manifest(const Json& work, const std::string& condition);

/// The cluster that holds the rollout: failed ones first, then timed-out, then who is under way the longest. nullptr: none.
const work::ClusterProgress* blocking_cluster(const work::ReplicaSetPlan& plan);

/// Waits until the hub's controller has said `reason` (or, `negated`, anything else) in the set's condition; kTimeout with what
/// to look at.
Status wait_for_reason(Context& context, const kube::Client& hub, const RolloutName& name, std::string_view reason, bool negated,
                       Duration timeout);

/// Tells the rollout's course until it ends (or `timeout` is over; zero: no limit); the report of its end, with its exit code.
Result<Report> watch_rollout(Context& context, const kube::Client& hub, const RolloutName& name, Duration timeout);

}  // namespace fleetadm::commands
