#include "core/work/plan/replica_set_forecast.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

using What = ForecastEvent::What;

constexpr int kMaxSteps = 1000000;

Json reported(std::string_view status, Instant at, std::int64_t generation, bool progressing_rule) {
  Json conditions = Json::array();
  const auto add = [&](std::string_view type, std::string_view value) {
    conditions.push_back({{"type", type},
                          {"status", value},
                          {"lastTransitionTime", format_micro_time(at)},
                          {"observedGeneration", generation},
                          {"message", status == "True" ? "" : "as assumed"}});
  };
  add(kConditionApplied, status);
  add(kConditionAvailable, status);
  if (progressing_rule && status == "True") add(kConditionProgressing, "False");
  return conditions;
}

class Simulation {
 public:
  Simulation(const Json& set, const std::map<std::string, PlacementView>& placements, std::vector<OwnedWork> works,
             std::optional<Revision> revision, Instant now, const Assume& assume)
      : set_(set),
        placements_(placements),
        works_(std::move(works)),
        revision_(std::move(revision)),
        begin_(now),
        now_(now),
        assume_(assume),
        hash_(work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"}))),
        criterion_(criterion_of(set)) {
    for (const OwnedWork& work : works_) {
      if (work.spec_hash == hash_ && !work.deleting &&
          judge_work(work, criterion_, {}, now).state == rollout::State::kProgressing)
        await(work.ns);
    }
    if (!revision_) {
      if (std::optional<Members> members = members_now(set, placements)) {
        revision_ = Revision{};
        revision_->number = 1;
        revision_->members = std::move(*members);
      }
    }
  }

  Forecast run() {
    for (int step = 0; step < kMaxSteps; ++step) {
      ReplicaSetPlan plan = plan_replica_set(set_, placements_, works_, revision_, now_);
      note_ends(plan);
      const bool wrote = !plan.paused && write(plan);
      if (wrote) continue;
      if (plan.over && revision_ && !revision_->over()) {
        revision_->outcome = plan.failures ? kOutcomePartial : kOutcomeComplete;
        if (plan.count(Phase::kQueued) > 0) continue;
      }
      const std::optional<Instant> next = next_moment(plan);
      if (!next) {
        out_.complete = plan.rolled_out;
        out_.end = std::move(plan);
        return std::move(out_);
      }
      now_ = *next;
      report();
    }
    out_.cut_off = true;
    out_.end = plan_replica_set(set_, placements_, works_, revision_, now_);
    return std::move(out_);
  }

 private:
  void tell(What what, const std::string& cluster, const std::string& placement) {
    ForecastEvent event;
    event.what = what;
    event.at = now_ - begin_;
    event.cluster = cluster;
    event.placement = placement;
    if (what == What::kCreated || what == What::kChanged) event.batch = batch_;
    const auto view = placements_.find(placement);
    if (view != placements_.end()) {
      for (const rollout::Group& group : view->second.groups) {
        if (std::find(group.clusters.begin(), group.clusters.end(), cluster) != group.clusters.end()) event.group = group.key;
      }
    }
    out_.took = event.at;
    out_.events.push_back(std::move(event));
  }

  void await(const std::string& cluster) {
    const Assumption assumed = assume_(cluster);
    if (assumed.end != Assumption::End::kSilent) awaited_[cluster] = {now_ + assumed.after, assumed.end};
  }

  /// True where anything was written.
  bool write(const ReplicaSetPlan& plan) {
    for (const OwnedWork& work : plan.remove) {
      std::erase_if(works_,
                    [&](const OwnedWork& one) { return one.uid == work.uid && one.ns == work.ns && one.name == work.name; });
      tell(What::kRemoved, work.ns, work.placement);
    }
    const bool begins = !plan.create.empty() ||
                        std::any_of(plan.update.begin(), plan.update.end(), [](const WorkChange& one) { return one.spec; });
    if (begins) ++batch_;
    for (const WantedWork& wanted : plan.create) {
      OwnedWork work;
      work.ns = wanted.cluster;
      work.name = work_name_of(set_);
      work.placement = wanted.placement;
      work.created = format_time(now_);
      works_.push_back(std::move(work));
      apply(works_.back(), wanted.placement);
      tell(What::kCreated, wanted.cluster, wanted.placement);
    }
    for (const WorkChange& change : plan.update) {
      for (OwnedWork& work : works_) {
        if (work.ns != change.work.ns || work.name != change.work.name) continue;
        if (change.spec) {
          apply(work, change.placement);
          tell(What::kChanged, work.ns, change.placement);
        } else {
          work.labels = work_labels(set_, change.placement);
          work.placement = change.placement;
        }
      }
    }
    return begins || !plan.remove.empty() || !plan.update.empty();
  }

  void apply(OwnedWork& work, const std::string& placement) {
    work.labels = work_labels(set_, placement);
    work.placement = placement;
    work.spec_hash = hash_;
    work.begun = now_;
    ++work.generation;
    await(work.ns);
  }

  void report() {
    for (OwnedWork& work : works_) {
      const auto due = awaited_.find(work.ns);
      if (due == awaited_.end() || due->second.first > now_ || work.spec_hash != hash_) continue;
      const bool succeeds = due->second.second == Assumption::End::kSucceeds;
      work.conditions = reported(succeeds ? "True" : "False", due->second.first, work.generation, criterion_.needs_progressing);
      tell(succeeds ? What::kSucceeded : What::kFailed, work.ns, work.placement);
      awaited_.erase(due);
    }
  }

  void note_ends(const ReplicaSetPlan& plan) {
    for (const ClusterProgress& one : plan.clusters) {
      if (one.phase == Phase::kTimedOut && timed_out_.insert(one.cluster).second)
        tell(What::kTimedOut, one.cluster, one.placement);
    }
  }

  std::optional<Instant> next_moment(const ReplicaSetPlan& plan) const {
    std::optional<Instant> next;
    const auto consider = [&](Instant at) {
      if (at > now_ && (!next || at < *next)) next = at;
    };
    for (const auto& [cluster, due] : awaited_) consider(due.first);
    if (plan.recheck && !plan.paused) consider(now_ + *plan.recheck);
    return next;
  }

  const Json& set_;
  const std::map<std::string, PlacementView>& placements_;
  std::vector<OwnedWork> works_;
  std::optional<Revision> revision_;
  const Instant begin_;
  Instant now_;
  const Assume& assume_;
  const std::string hash_;
  const Criterion criterion_;
  int batch_ = 0;
  std::map<std::string, std::pair<Instant, Assumption::End>> awaited_;
  std::set<std::string> timed_out_;
  Forecast out_;
};

}  // namespace

std::string_view to_string(ForecastEvent::What what) {
  switch (what) {
    case What::kCreated: return "create";
    case What::kChanged: return "change";
    case What::kRemoved: return "remove";
    case What::kSucceeded: return "succeeded";
    case What::kFailed: return "failed";
    case What::kTimedOut: return "timed out";
  }
  return "create";
}

Forecast forecast(const Json& set, const std::map<std::string, PlacementView>& placements, std::vector<OwnedWork> works,
                  std::optional<Revision> revision, Instant now, const Assume& assume) {
  return Simulation(set, placements, std::move(works), std::move(revision), now, assume).run();
}

}  // namespace fleetadm::work
