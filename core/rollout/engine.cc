#include "core/rollout/engine.h"

#include <algorithm>
#include <utility>

#include "core/rollout/strategy.h"

namespace fleetadm::rollout {
namespace {

/// Saturates where the sum does not fit.
Instant later(Instant at, Duration by) {
  if (by > Duration::zero() && at > Instant::max() - by) return Instant::max();
  if (by < Duration::zero() && at < Instant::min() - by) return Instant::min();
  return at + by;
}

/// How long from `now` to a later moment; saturates.
Duration until(Instant at, Instant now) {
  const bool fits = now >= Instant() || at <= Instant::max() + now.time_since_epoch();
  return fits ? at - now : Duration::max();
}

/// Any other bits than those of a State count as Progressing.
bool running(State state) {
  switch (state) {
    case State::kToApply:
    case State::kSucceeded:
    case State::kTimeOut:
    case State::kSkip: return false;
    case State::kProgressing:
    case State::kFailed: break;
  }
  return true;
}

}  // namespace

Evaluated evaluate(ClusterState status, Duration soak, const std::optional<Duration>& deadline, Instant now) {
  Evaluated out{std::move(status), Standing::kIgnored};
  ClusterState& one = out.status;
  if (one.state == State::kToApply) {
    out.standing = Standing::kActive;
  } else if (one.state == State::kSucceeded) {
    const Instant end = later(one.since.value_or(now), soak);
    one.recheck = end;
    if (now < end) out.standing = Standing::kActive;
  } else if (running(one.state)) {
    out.standing = Standing::kActive;
    if (!deadline) return out;
    one.recheck = later(one.since.value_or(now), *deadline);
    if (now >= *one.recheck) {
      one.state = State::kTimeOut;
      out.standing = Standing::kTimedOut;
    }
  }
  return out;
}

Result<std::int64_t> concurrency_of(const Strategy& strategy, std::int64_t total) {
  Result<std::int64_t> size = resolve(strategy.max_concurrency, total, total);
  if (!size) return tl::unexpected(size.error().wrap("failed to parse the provided maxConcurrency"));
  return size;
}

Result<Step> next_step(const Strategy& strategy, const std::vector<Group>& groups, const std::vector<ClusterState>& existing,
                       Instant now, Semantics conduct) {
  const GroupMap visible = visible_groups(groups, conduct);
  const std::map<std::string, GroupKey> group_of = cluster_groups(visible);
  std::vector<ClusterState> current;
  std::vector<std::string> removed;
  for (const ClusterState& one : existing) {
    if (group_of.contains(one.cluster)) {
      current.push_back(one);
    } else {
      removed.push_back(one.cluster);
    }
  }
  const GroupMap all = visible_groups(groups, Semantics::kStrict);
  FLEETADM_TRY(Step step, conduct == Semantics::kUpstream ? upstream_step(strategy, all, visible, current, now)
                                                          : strict_step(strategy, visible, current, now));
  step.removed = std::move(removed);
  for (const ClusterState& one : step.rollout) {
    if (!one.recheck || *one.recheck <= now) continue;
    const Duration wait = until(*one.recheck, now);
    if (!step.recheck_after || wait < *step.recheck_after) step.recheck_after = wait;
  }
  return step;
}

}  // namespace fleetadm::rollout
