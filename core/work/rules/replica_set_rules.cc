#include "core/work/rules/replica_set_rules.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/api/kinds.h"
#include "core/rollout/engine.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

struct Reference {
  std::string placement;
  Json strategy;
};

std::vector<Reference> references_of(const Json& set) {
  std::vector<Reference> references;
  for (const Json& entry : list_at(set, {"spec", "placementRefs"})) {
    Json strategy = object_at(entry, {"rolloutStrategy"});
    if (str(strategy, {"type"}).empty()) strategy["type"] = "All";  // the CRD's default
    references.push_back({str(entry, {"name"}), std::move(strategy)});
  }
  return references;
}

/// Of several works of the set in one cluster, the one to keep: of the wanted placement, then the oldest.
bool better(const OwnedWork& a, const OwnedWork& b, const std::string& placement) {
  const auto rank = [&](const OwnedWork& work) {
    return std::tuple(work.deleting, work.placement != placement, work.created, work.name);
  };
  return rank(a) < rank(b);
}

class Planner {
 public:
  Planner(const Json& set, const std::map<std::string, PlacementView>& placements, const std::vector<OwnedWork>& works,
          const std::optional<Revision>& revision, Instant now)
      : set_(set), placements_(placements), works_(works), revision_(revision), now_(now), control_(control_of(set)) {}

  ReplicaSetPlan make() {
    const Json& wanted = object_at(set_, {"spec", "manifestWorkTemplate"});
    hash_ = work_spec_hash(wanted);
    criterion_ = criterion_of(set_);
    plan_.paused = control_.paused;
    plan_.aborted = revision_ && control_.aborted == revision_->number;
    if (!read_references()) return std::move(plan_);
    choose_works();
    plan_.over = true;
    for (PlacementProgress& progress : plan_.placements) roll(progress);
    keep_or_remove();
    conclude();
    return std::move(plan_);
  }

 private:
  bool read_references();
  void choose_works();
  void keep_or_remove();
  /// The clusters of a placement that take part in its rollout.
  struct Standings {
    std::vector<rollout::Group> groups;
    std::vector<rollout::ClusterState> known;
    std::map<std::string, Verdict> verdicts;
  };
  Standings standings_of(const PlacementProgress& progress);
  void take_step(const Standings& standings, PlacementProgress& progress);
  void recheck_within(Duration wait) { plan_.recheck = plan_.recheck ? std::min(*plan_.recheck, wait) : wait; }
  void roll(PlacementProgress& progress);
  void note(const std::string& cluster, const PlacementProgress& progress, const rollout::GroupKey& group, const OwnedWork* work,
            const Verdict* verdict);
  void begin(const std::string& cluster, const PlacementProgress& progress);
  void conclude();

  bool fixed(const PlacementProgress& progress) const {
    return progress.gradual && revision_ && !revision_->over() && revision_->members.contains(progress.placement);
  }
  bool current(const OwnedWork& work) const { return work.spec_hash == hash_; }
  const OwnedWork* chosen(const std::string& cluster) const {
    const auto found = chosen_.find(cluster);
    return found == chosen_.end() ? nullptr : found->second;
  }

  const Json& set_;
  const std::map<std::string, PlacementView>& placements_;
  const std::vector<OwnedWork>& works_;
  const std::optional<Revision>& revision_;
  const Instant now_;
  const Control control_;
  std::string hash_;
  Criterion criterion_;
  std::map<std::string, std::string> wanted_;       // cluster → placement
  std::map<std::string, const OwnedWork*> chosen_;  // cluster → the work to keep there
  std::set<std::string> frozen_;                    // placements whose works stay as they are
  std::set<std::string> begun_;                     // clusters that get the template in this step
  ReplicaSetPlan plan_;
};

bool Planner::read_references() {
  for (const Reference& reference : references_of(set_)) {
    const auto view = placements_.find(reference.placement);
    if (view == placements_.end() || !view->second.exists) {
      plan_.missing_placement = reference.placement;
      return false;
    }
    PlacementProgress progress;
    progress.placement = reference.placement;
    progress.error = view->second.problem;
    if (Result<rollout::Strategy> strategy = rollout::parse_strategy(reference.strategy)) {
      progress.gradual = strategy->kind != rollout::Kind::kAll;
      progress.strategy = std::move(*strategy);
    } else if (progress.error.empty()) {
      progress.error = "the rollout strategy of placement " + reference.placement + ": " + strategy.error().message;
    }
    progress.held = !view->second.settled() || (progress.gradual && !view->second.scheduled());
    if (progress.held || !progress.error.empty()) frozen_.insert(reference.placement);
    for (const rollout::Group& group : view->second.groups) {
      for (const std::string& cluster : group.clusters) wanted_.emplace(cluster, reference.placement);
    }
    plan_.placements.push_back(std::move(progress));
  }
  return true;
}

void Planner::choose_works() {
  for (const OwnedWork& work : works_) {
    const auto want = wanted_.find(work.ns);
    if (want == wanted_.end()) continue;
    const OwnedWork*& best = chosen_[work.ns];
    if (best == nullptr || better(work, *best, want->second)) best = &work;
  }
}

void Planner::note(const std::string& cluster, const PlacementProgress& progress, const rollout::GroupKey& group,
                   const OwnedWork* work, const Verdict* verdict) {
  ClusterProgress one;
  one.cluster = cluster;
  one.placement = progress.placement;
  one.group = group;
  if (begun_.contains(cluster)) {
    one.phase = Phase::kBeginning;
    one.since = now_;
  } else if (verdict != nullptr && progress.strategy) {
    const rollout::Evaluated standing =
        rollout::evaluate({cluster, group, verdict->state, verdict->since, std::nullopt}, progress.strategy->min_success_time,
                          progress.strategy->progress_deadline, now_);
    one.since = verdict->since;
    one.why = verdict->why;
    one.condition = verdict->condition;
    one.until = standing.status.recheck;
    switch (standing.status.state) {
      case rollout::State::kSucceeded:
        one.phase = standing.standing == rollout::Standing::kActive ? Phase::kSoaking : Phase::kDone;
        break;
      case rollout::State::kFailed: one.phase = Phase::kFailed; break;
      case rollout::State::kTimeOut: one.phase = Phase::kTimedOut; break;
      default: one.phase = Phase::kUnderWay;
    }
    if (one.phase == Phase::kDone) one.until.reset();
  } else if (fixed(progress) && !revision_->members.at(progress.placement).contains(cluster)) {
    one.phase = Phase::kQueued;
  } else if (work != nullptr && work->deleting) {
    one.why = "the former work is being deleted";
  }
  plan_.clusters.push_back(std::move(one));
}

void Planner::begin(const std::string& cluster, const PlacementProgress& progress) {
  const OwnedWork* work = chosen(cluster);
  if (work != nullptr && work->deleting) return;  // it has to go first
  begun_.insert(cluster);
  if (work == nullptr) {
    plan_.create.push_back({cluster, progress.placement});
  } else {
    plan_.update.push_back({*work, progress.placement, true});
  }
}

/// Verdicts on the works as they are now, and what the rollout has to know of them.
Planner::Standings Planner::standings_of(const PlacementProgress& progress) {
  Standings out;
  for (const rollout::Group& group : placements_.at(progress.placement).groups) {
    rollout::Group own{group.key, {}};
    for (const std::string& cluster : group.clusters) {
      if (wanted_.at(cluster) != progress.placement) continue;
      const OwnedWork* work = chosen(cluster);
      if (work != nullptr && current(*work)) {
        const Verdict& verdict =
            out.verdicts.emplace(cluster, judge_work(*work, criterion_, control_.retry_at, now_)).first->second;
        if (verdict.look_again && *verdict.look_again > now_) recheck_within(*verdict.look_again - now_);
      }
      if (fixed(progress) && !revision_->members.at(progress.placement).contains(cluster)) continue;
      own.clusters.push_back(cluster);
      if (const auto verdict = out.verdicts.find(cluster); verdict != out.verdicts.end()) {
        out.known.push_back({cluster, group.key, verdict->second.state, verdict->second.since, std::nullopt});
      } else if (work != nullptr && unsettled(*work, criterion_.success)) {
        out.known.push_back({cluster, group.key, rollout::State::kToApply, std::nullopt, std::nullopt});
      }
    }
    out.groups.push_back(std::move(own));
  }
  return out;
}

void Planner::take_step(const Standings& standings, PlacementProgress& progress) {
  Result<rollout::Step> step =
      rollout::next_step(*progress.strategy, standings.groups, standings.known, now_, rollout::Semantics::kStrict);
  if (!step) {
    progress.error = "the rollout strategy of placement " + progress.placement + ": " + step.error().message;
    frozen_.insert(progress.placement);
    return;
  }
  progress.breach = step->breach;
  if (step->recheck_after) recheck_within(*step->recheck_after);
  const bool may = !plan_.paused && !plan_.aborted && (revision_ || !progress.gradual);
  for (const rollout::ClusterState& one : step->rollout) {
    if (one.state == rollout::State::kToApply && may) begin(one.cluster, progress);
  }
}

void Planner::roll(PlacementProgress& progress) {
  const Standings standings = standings_of(progress);
  if (progress.error.empty() && !progress.held) take_step(standings, progress);
  for (const rollout::Group& group : placements_.at(progress.placement).groups) {
    for (const std::string& cluster : group.clusters) {
      if (wanted_.at(cluster) != progress.placement) continue;
      const auto verdict = standings.verdicts.find(cluster);
      note(cluster, progress, group.key, chosen(cluster), verdict == standings.verdicts.end() ? nullptr : &verdict->second);
    }
  }
  if (fixed(progress)) {
    for (const std::string& cluster : revision_->members.at(progress.placement)) {
      if (wanted_.contains(cluster)) continue;
      ClusterProgress gone;
      gone.cluster = cluster;
      gone.placement = progress.placement;
      gone.phase = Phase::kSkipped;
      plan_.clusters.push_back(std::move(gone));
    }
  }
  if (!progress.error.empty() || progress.held || progress.breach) plan_.over = false;
}

void Planner::keep_or_remove() {
  std::set<std::string> referenced;
  for (const PlacementProgress& progress : plan_.placements) referenced.insert(progress.placement);
  for (const OwnedWork& work : works_) {
    if (chosen(work.ns) == &work) {
      const std::string& placement = wanted_.at(work.ns);
      plan_.kept[placement].push_back(work);
      if (work.deleting || begun_.contains(work.ns) || frozen_.contains(placement)) continue;
      const std::map<std::string, std::string> labels = work_labels(set_, placement);
      const bool labelled = std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
        const auto has = work.labels.find(label.first);
        return has != work.labels.end() && has->second == label.second;
      });
      if (!labelled) plan_.update.push_back({work, placement, false});
      continue;
    }
    if (work.deleting) continue;
    if (chosen(work.ns) == nullptr) {
      const bool unknown_origin = work.placement.empty() && !frozen_.empty();
      if (frozen_.contains(work.placement) && referenced.contains(work.placement)) {
        plan_.kept[work.placement].push_back(work);
        continue;
      }
      if (unknown_origin) continue;
    } else if (frozen_.contains(wanted_.at(work.ns))) {
      continue;
    }
    plan_.remove.push_back(work);
  }
}

void Planner::conclude() {
  const auto by_cluster = [](const auto& a, const auto& b) { return a < b; };
  std::sort(plan_.create.begin(), plan_.create.end(),
            [&](const WantedWork& a, const WantedWork& b) { return by_cluster(a.cluster, b.cluster); });
  std::sort(plan_.update.begin(), plan_.update.end(),
            [&](const WorkChange& a, const WorkChange& b) { return by_cluster(a.work.ns, b.work.ns); });
  plan_.rolled_out = plan_.error().empty() && frozen_.empty() && plan_.remove.empty() && plan_.create.empty();
  for (const ClusterProgress& one : plan_.clusters) {
    const bool done = one.phase == Phase::kDone || one.phase == Phase::kSoaking;
    const bool failed = one.phase == Phase::kFailed || one.phase == Phase::kTimedOut;
    plan_.failures = plan_.failures || failed;
    if (one.phase == Phase::kSkipped) continue;
    if (!done) plan_.rolled_out = false;
    if (one.phase != Phase::kDone && !failed && one.phase != Phase::kQueued) plan_.over = false;
  }
  if (plan_.paused || plan_.aborted) plan_.over = false;
  for (PlacementProgress& progress : plan_.placements) {
    const auto kept = plan_.kept.find(progress.placement);
    if (kept == plan_.kept.end()) continue;
    progress.works = std::count_if(kept->second.begin(), kept->second.end(),
                                   [&](const OwnedWork& work) { return current(work) || begun_.contains(work.ns); });
  }
  for (const WantedWork& wanted : plan_.create) {
    for (PlacementProgress& progress : plan_.placements) progress.works += progress.placement == wanted.placement ? 1 : 0;
  }
  std::stable_sort(plan_.clusters.begin(), plan_.clusters.end(), [](const ClusterProgress& a, const ClusterProgress& b) {
    return std::tie(a.placement, a.cluster) < std::tie(b.placement, b.cluster);
  });
  if (plan_.paused) plan_.remove.clear(), plan_.update.clear();
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kDone: return "Done";
    case Phase::kSoaking: return "Soaking";
    case Phase::kUnderWay: return "Progressing";
    case Phase::kFailed: return "Failed";
    case Phase::kTimedOut: return "TimedOut";
    case Phase::kBeginning: return "Beginning";
    case Phase::kWaiting: return "Waiting";
    case Phase::kQueued: return "Queued";
    case Phase::kSkipped: return "Skipped";
  }
  return "Waiting";
}

std::size_t ReplicaSetPlan::count(Phase phase) const {
  return static_cast<std::size_t>(
      std::count_if(clusters.begin(), clusters.end(), [&](const ClusterProgress& one) { return one.phase == phase; }));
}

bool ReplicaSetPlan::breach() const {
  return std::any_of(placements.begin(), placements.end(), [](const PlacementProgress& one) { return one.breach; });
}

std::string ReplicaSetPlan::error() const {
  for (const PlacementProgress& one : placements) {
    if (!one.error.empty()) return one.error;
  }
  return {};
}

ReplicaSetPlan plan_replica_set(const Json& set, const std::map<std::string, PlacementView>& placements,
                                const std::vector<OwnedWork>& works, const std::optional<Revision>& revision, Instant now) {
  return Planner(set, placements, works, revision, now).make();
}

std::optional<Members> members_now(const Json& set, const std::map<std::string, PlacementView>& placements) {
  Members members;
  std::set<std::string> taken;
  for (const Reference& reference : references_of(set)) {
    const auto view = placements.find(reference.placement);
    const Result<rollout::Strategy> strategy = rollout::parse_strategy(reference.strategy);
    if (view == placements.end() || !view->second.exists || !strategy || !view->second.problem.empty()) return std::nullopt;
    const bool gradual = strategy->kind != rollout::Kind::kAll;
    if (gradual && (!view->second.settled() || !view->second.scheduled())) return std::nullopt;
    std::set<std::string> own;
    for (const rollout::Group& group : view->second.groups) {
      for (const std::string& cluster : group.clusters) {
        if (taken.insert(cluster).second) own.insert(cluster);
      }
    }
    if (gradual) members.emplace(reference.placement, std::move(own));
  }
  return members;
}

}  // namespace fleetadm::work
