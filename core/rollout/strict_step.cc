// The step that our controllers take: upstream's intent without its slips (Semantics::kStrict).
#include <algorithm>
#include <map>
#include <utility>

#include "core/rollout/engine.h"
#include "core/rollout/strategy.h"

namespace fleetadm::rollout {
namespace {

/// What is known of every cluster, judged once.
class StepBuilder {
 public:
  StepBuilder(const Strategy& strategy, const std::vector<ClusterState>& current, Instant now) {
    for (const ClusterState& status : current) {
      Evaluated one = evaluate(status, strategy.min_success_time, strategy.progress_deadline, now);
      if (status.state == State::kToApply) {
        waiting_.insert_or_assign(status.cluster, std::move(one.status));
        continue;
      }
      if (one.standing == Standing::kActive) step_.rollout.push_back(one.status);
      if (one.standing == Standing::kTimedOut) step_.timed_out.push_back(one.status);
      judged_.insert_or_assign(status.cluster, std::move(one));
    }
    const auto by_name = [](const ClusterState& a, const ClusterState& b) { return a.cluster < b.cluster; };
    std::sort(step_.rollout.begin(), step_.rollout.end(), by_name);
    std::sort(step_.timed_out.begin(), step_.timed_out.end(), by_name);
  }

  std::int64_t failures(const GroupMap& groups) const {
    std::int64_t count = 0;
    for (const auto& [key, clusters] : groups) count += failures(clusters);
    return count;
  }
  std::int64_t failures(const std::set<std::string>& clusters) const {
    return std::count_if(clusters.begin(), clusters.end(), [&](const std::string& cluster) {
      const auto known = judged_.find(cluster);
      return known != judged_.end() && known->second.failed();
    });
  }
  /// Slots that are taken: under way, soaking, or failed within the deadline.
  std::int64_t active(const GroupMap& groups) const {
    std::int64_t count = 0;
    for (const auto& [key, clusters] : groups) {
      count += std::count_if(clusters.begin(), clusters.end(), [&](const std::string& cluster) {
        const auto known = judged_.find(cluster);
        return known != judged_.end() && known->second.standing == Standing::kActive;
      });
    }
    return count;
  }
  /// Something of the group is to be waited for: pending, under way or soaking. A tolerated failure is not.
  bool open(const std::set<std::string>& clusters) const {
    return std::any_of(clusters.begin(), clusters.end(), [&](const std::string& cluster) {
      const auto known = judged_.find(cluster);
      return known == judged_.end() || (known->second.standing == Standing::kActive && !known->second.failed());
    });
  }
  /// Begins what is pending, at most `slots`: first what was already said to be applied (as it was given, or `anew`), then by
  /// name.
  void begin(const GroupMap& groups, std::int64_t slots, bool anew = false) {
    const std::map<std::string, GroupKey> keys = cluster_groups(groups);
    for (const bool said : {true, false}) {
      for (const auto& [cluster, key] : keys) {
        if (slots <= 0) return;
        const auto status = waiting_.find(cluster);
        if (judged_.contains(cluster) || (status != waiting_.end()) != said) continue;
        ClusterState one =
            said && !anew ? status->second : ClusterState{cluster, key, State::kToApply, std::nullopt, std::nullopt};
        one.group = key;
        step_.rollout.push_back(std::move(one));
        --slots;
      }
    }
  }
  /// Group by group: true where the walk ends here.
  Result<bool> groups_in_turn(const GroupMap& groups, const Threshold& max_failures) {
    for (const auto& [key, clusters] : groups) {
      FLEETADM_TRY(const std::int64_t limit, resolve(max_failures, static_cast<std::int64_t>(clusters.size()), 0));
      if (failures(clusters) > limit) {
        step_.breach = true;
        return true;
      }
      if (!open(clusters)) continue;
      begin({{key, clusters}}, static_cast<std::int64_t>(clusters.size()), true);
      return true;
    }
    return false;
  }
  Step& step() { return step_; }

 private:
  std::map<std::string, Evaluated> judged_;
  std::map<std::string, ClusterState> waiting_;  // given as ToApply
  Step step_;
};

}  // namespace

Result<Step> strict_step(const Strategy& strategy, const GroupMap& groups, const std::vector<ClusterState>& current,
                         Instant now) {
  StepBuilder walk(strategy, current, now);
  const std::int64_t all = cluster_count(groups);
  if (strategy.kind == Kind::kAll) {
    walk.begin(groups, all);
    return std::move(walk.step());
  }
  const Split split = split_groups(groups, strategy.mandatory);
  FLEETADM_TRY(const bool held, walk.groups_in_turn(split.mandatory, Threshold{}));
  if (held) return std::move(walk.step());
  if (strategy.kind == Kind::kProgressivePerGroup) {
    FLEETADM_CHECK(walk.groups_in_turn(split.others, strategy.max_failures));
    return std::move(walk.step());
  }
  FLEETADM_TRY(const std::int64_t max_failures, resolve(strategy.max_failures, all, 0));
  FLEETADM_TRY(const std::int64_t size, concurrency_of(strategy, cluster_count(split.others)));
  walk.step().breach = walk.failures(groups) > max_failures;
  if (!walk.step().breach) walk.begin(split.others, size - walk.active(split.others));
  return std::move(walk.step());
}

}  // namespace fleetadm::rollout
