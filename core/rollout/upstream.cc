// Upstream's two engines as they are (docs/reference/rollout.md#strategies): what its answers are compared with, and what a peer
// would do.
#include <algorithm>
#include <set>
#include <utility>

#include "core/rollout/engine.h"
#include "core/rollout/strategy.h"

namespace fleetadm::rollout {
namespace {

struct Times {
  Duration soak{};
  std::optional<Duration> deadline;
};

void place(Step& step, Evaluated one) {
  if (one.standing == Standing::kActive) {
    step.rollout.push_back(std::move(one.status));
  } else if (one.standing == Standing::kTimedOut) {
    step.timed_out.push_back(std::move(one.status));
  }
}

std::int64_t size_of(const std::vector<ClusterState>& list) { return static_cast<std::int64_t>(list.size()); }

Step per_cluster(const GroupMap& groups, std::int64_t size, std::int64_t max_failures, const Times& times,
                 std::vector<ClusterState> current, Instant now) {
  std::stable_sort(current.begin(), current.end(),
                   [](const ClusterState& a, const ClusterState& b) { return a.cluster < b.cluster; });
  Step step;
  std::set<std::string> seen;
  std::int64_t failures = 0;
  for (const ClusterState& status : current) {
    if (status.cluster.empty()) continue;
    seen.insert(status.cluster);
    if (!(step.breach && status.state == State::kToApply)) {
      Evaluated one = evaluate(status, times.soak, times.deadline, now);
      if (one.failed()) step.breach = ++failures > max_failures;
      place(step, std::move(one));
    }
    if (size_of(step.rollout) >= size) return step;
  }
  if (step.breach) return step;
  for (const auto& [cluster, key] : cluster_groups(groups)) {
    if (seen.contains(cluster)) continue;
    step.rollout.push_back({cluster, key, State::kToApply, std::nullopt, std::nullopt});
    if (size_of(step.rollout) >= size) return step;
  }
  return step;
}

Result<Step> per_group(const GroupMap& groups, const Threshold& max_failures, const Times& times,
                       const std::vector<ClusterState>& current, Instant now) {
  Step step;
  std::map<std::string, bool> failed;  // of every remembered cluster
  for (const ClusterState& status : current) {
    if (status.state == State::kToApply) continue;
    Evaluated one = evaluate(status, times.soak, times.deadline, now);
    failed[status.cluster] = one.failed();
    place(step, std::move(one));
  }
  std::int64_t total_failures = 0;
  for (const auto& [key, clusters] : groups) {
    FLEETADM_TRY(const std::int64_t limit, resolve(max_failures, static_cast<std::int64_t>(clusters.size()), 0));
    std::int64_t group_failures = 0;
    for (const std::string& cluster : clusters) {
      const auto known = failed.find(cluster);
      if (known == failed.end()) {
        step.rollout.push_back({cluster, key, State::kToApply, std::nullopt, std::nullopt});
      } else if (known->second) {
        step.breach = ++group_failures > limit;
      }
    }
    total_failures += group_failures;
    if (size_of(step.rollout) - total_failures > 0 || step.breach) return step;
  }
  return step;
}

}  // namespace

Result<Step> upstream_step(const Strategy& strategy, const GroupMap& all, const GroupMap& visible,
                           const std::vector<ClusterState>& current, Instant now) {
  const std::int64_t total = cluster_count(visible);
  const Times times{strategy.min_success_time, strategy.progress_deadline};
  if (strategy.kind == Kind::kAll) return per_cluster(visible, total, total, times, current, now);
  const GroupMap mandatory = split_groups(all, strategy.mandatory).mandatory;
  const GroupMap others = split_groups(visible, strategy.mandatory).others;
  if (!mandatory.empty()) {
    FLEETADM_TRY(Step step, per_group(mandatory, Threshold{}, times, current, now));
    if (!step.rollout.empty() || !step.timed_out.empty()) return step;
  }
  if (strategy.kind == Kind::kProgressivePerGroup) return per_group(others, strategy.max_failures, times, current, now);
  FLEETADM_TRY(const std::int64_t max_failures, resolve(strategy.max_failures, total, 0));
  FLEETADM_TRY(const std::int64_t size, concurrency_of(strategy, cluster_count(others)));
  return per_cluster(others, size, max_failures, times, current, now);
}

}  // namespace fleetadm::rollout
