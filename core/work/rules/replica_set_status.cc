#include "core/work/rules/replica_set_status.h"

#include <utility>

#include "core/controller/controller.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

constexpr std::string_view kVerified = "PlacementVerified";
constexpr std::string_view kRolledOut = "PlacementRolledOut";
constexpr std::string_view kManifestworkApplied = "ManifestworkApplied";
constexpr std::size_t kNamed = 5;  // clusters named in a sentence

struct Totals {
  std::int64_t total = 0, applied = 0, available = 0, progressing = 0, degraded = 0;

  void count(const OwnedWork& work) {
    applied += is_true(work.conditions, kConditionApplied) ? 1 : 0;
    available += is_true(work.conditions, kConditionAvailable) ? 1 : 0;
    progressing += is_true(work.conditions, kConditionProgressing) ? 1 : 0;
    degraded += is_true(work.conditions, kConditionDegraded) ? 1 : 0;
  }
  Totals& operator+=(const Totals& other) {
    total += other.total;
    applied += other.applied;
    available += other.available;
    progressing += other.progressing;
    degraded += other.degraded;
    return *this;
  }
  Json to_json() const {
    return Json::object({{"total", total},
                         {"desiredTotal", 0},  // upstream declares these two and never sets them
                         {"updated", 0},
                         {"applied", applied},
                         {"available", available},
                         {"progressing", progressing},
                         {"degraded", degraded}});
  }
};

std::string named(const ReplicaSetPlan& plan, Phase phase) {
  std::string text;
  std::size_t named = 0;
  for (const ClusterProgress& one : plan.clusters) {
    if (one.phase != phase) continue;
    if (named++ == kNamed) return text + ", …";
    text += (text.empty() ? "" : ", ") + one.cluster;
  }
  return text;
}

}  // namespace

bool hub_follows_decisions(const Json& set) {
  if (uid_of(set).empty()) return true;  // not on the hub yet
  const Json& conditions = list_at(set, {"status", "conditions"});
  const Json* rollout = condition_in(conditions, kRolloutCondition);
  return rollout == nullptr ? !conditions.empty() : str(*rollout, {"reason"}) != kReasonWaiting;
}

std::string rollout_reason(const ReplicaSetPlan& plan) {
  if (plan.paused) return "Paused";
  if (!plan.error().empty()) return "Invalid";
  if (plan.rolled_out) return "Complete";
  if (plan.aborted) return "Aborted";
  if (plan.breach()) return "Failed";
  for (const PlacementProgress& one : plan.placements) {
    if (one.held) return std::string(kReasonWaiting);
  }
  if (plan.over && plan.failures) return "Partial";
  return "Progressing";
}

std::string rollout_sentence(const ReplicaSetPlan& plan, const std::optional<Revision>& revision) {
  std::string text = revision ? "revision " + std::to_string(revision->number) + ": " : std::string();
  const auto add = [&](Phase phase, std::string_view words, bool names) {
    const std::size_t count = plan.count(phase);
    if (count == 0) return;
    text += ", " + std::to_string(count) + " " + std::string(words);
    if (names) text += " (" + named(plan, phase) + ")";
  };
  const std::size_t skipped = plan.count(Phase::kSkipped);
  text += std::to_string(plan.count(Phase::kDone)) + " of " + std::to_string(plan.clusters.size() - skipped) + " clusters done";
  add(Phase::kSoaking, "watched", false);
  add(Phase::kUnderWay, "under way", false);
  add(Phase::kBeginning, "beginning", false);
  add(Phase::kFailed, "failed", true);
  add(Phase::kTimedOut, "timed out", true);
  add(Phase::kWaiting, "to come", false);
  add(Phase::kQueued, "queued", false);
  add(Phase::kSkipped, "skipped", false);
  for (const PlacementProgress& one : plan.placements) {
    if (one.held) text += "; waiting for the decisions of placement " + one.placement;
  }
  if (const std::string error = plan.error(); !error.empty()) text += "; " + error;
  return text;
}

Json invalid_name_status(const Json& set, const std::string& problem, Instant now) {
  Json status = object_at(set, {"status"});
  controller::set_condition(at_or_make(status, {"conditions"}), kManifestworkApplied, "False", "InvalidManifestWorkName", problem,
                            now);
  return status;
}

Json replica_set_status(const Json& set, const ReplicaSetPlan& plan, const std::map<std::string, PlacementView>& placements,
                        const std::optional<Revision>& revision, Instant now) {
  Json status = object_at(set, {"status"});
  Json& conditions = at_or_make(status, {"conditions"});
  if (!plan.missing_placement.empty()) {
    controller::set_condition(conditions, kVerified, "False", "PlacementDecisionNotFound", "", now);
    return status;
  }
  const std::string wanted_hash = work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"}));
  Totals sum;
  Json summaries = Json::array();
  for (const PlacementProgress& progress : plan.placements) {
    const PlacementView& view = placements.at(progress.placement);
    Totals totals;
    totals.total = progress.works;
    if (const auto kept = plan.kept.find(progress.placement); kept != plan.kept.end()) {
      for (const OwnedWork& work : kept->second) {
        if (work.spec_hash == wanted_hash && !work.deleting) totals.count(work);
      }
    }
    Json summary = Json::object();
    summary["name"] = progress.placement;
    summary["availableDecisionGroups"] = std::to_string(view.status_groups) + " (" + std::to_string(totals.total) + " / " +
                                         std::to_string(view.selected) + " clusters applied)";
    summary["summary"] = totals.to_json();
    summaries.push_back(std::move(summary));
    sum += totals;
  }
  status["placementSummary"] = std::move(summaries);
  status["summary"] = sum.to_json();

  const std::string error = plan.error();
  const bool empty = sum.total == 0 && plan.clusters.empty() && plan.kept.empty();
  if (!error.empty()) {
    controller::set_condition(conditions, kVerified, "False", "NotAsExpected", error, now);
  } else if (empty) {
    controller::set_condition(conditions, kVerified, "False", "PlacementDecisionEmpty", "", now);
  } else {
    controller::set_condition(conditions, kVerified, "True", "AsExpected", "", now);
  }
  controller::set_condition(conditions, kRolledOut, plan.rolled_out ? "True" : "False",
                            plan.rolled_out ? "Complete" : "Progressing", "", now);
  if (empty) {
    controller::set_condition(conditions, kManifestworkApplied, "False",
                              error.empty() ? "PlacementDecisionEmpty" : "NotAsExpected", "", now);
  } else if (sum.total > 0 && sum.available == sum.total && sum.progressing == 0 && sum.degraded == 0) {
    controller::set_condition(conditions, kManifestworkApplied, "True", "AsExpected", "", now);
  } else if (sum.progressing > 0 && sum.degraded == 0) {
    controller::set_condition(conditions, kManifestworkApplied, "False", "Processing", "", now);
  } else {
    controller::set_condition(conditions, kManifestworkApplied, "False", "NotAsExpected", "", now);
  }
  controller::set_condition(conditions, kRolloutCondition, plan.rolled_out ? "True" : "False", rollout_reason(plan),
                            rollout_sentence(plan, revision), now);
  return status;
}

}  // namespace fleetadm::work
