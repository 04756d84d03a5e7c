// One step of a rollout: what is known of the clusters, and the time, in; what to do now, out. Pure; keeps nothing between
// calls (docs/reference/rollout.md).
#pragma once

#include "core/rollout/groups.h"
#include "core/rollout/types.h"
#include "kubeclient/base/result.h"

namespace fleetadm::rollout {

/// `existing`: what is known of clusters, also of ones in no group any more. kInvalid: maxConcurrency is of neither form.
Result<Step> next_step(const Strategy& strategy, const std::vector<Group>& groups, const std::vector<ClusterState>& existing,
                       Instant now, Semantics conduct);

/// How one status counts at `now`, with the times of the strategy that apply.
enum class Standing {
  kIgnored,   // neither list: done, skipped, or given as timed out
  kActive,    // to apply, under way, failed within its deadline, or soaking
  kTimedOut,  // past its deadline; the state is rewritten
};
struct Evaluated {
  ClusterState status;
  Standing standing = Standing::kIgnored;

  bool failed() const { return status.state == State::kFailed || status.state == State::kTimeOut; }
};
Evaluated evaluate(ClusterState status, Duration soak, const std::optional<Duration>& deadline, Instant now);

/// The strict step behind next_step(): separate so that each file has one reason to change.
Result<Step> strict_step(const Strategy& strategy, const GroupMap& groups, const std::vector<ClusterState>& current, Instant now);
/// Upstream's step. `visible` are the groups of `all` that it counts; a mandatory group is found behind a gap, too.
Result<Step> upstream_step(const Strategy& strategy, const GroupMap& all, const GroupMap& visible,
                           const std::vector<ClusterState>& current, Instant now);

/// max_concurrency of `total`, as both steps read it.
Result<std::int64_t> concurrency_of(const Strategy& strategy, std::int64_t total);

}  // namespace fleetadm::rollout
