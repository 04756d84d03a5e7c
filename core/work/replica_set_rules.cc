#include "core/work/replica_set_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/controller/controller.h"
#include "core/work/conditions.h"
#include "core/work/names.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::work {
namespace {

constexpr std::size_t kMaxLabelValue = 63;
constexpr std::string_view kVerified = "PlacementVerified";
constexpr std::string_view kRolledOut = "PlacementRolledOut";
constexpr std::string_view kManifestworkApplied = "ManifestworkApplied";

struct Reference {
  std::string placement;
  std::string strategy;
};

std::vector<Reference> references_of(const Json& set) {
  std::vector<Reference> references;
  for (const Json& entry : list_at(set, {"spec", "placementRefs"})) {
    references.push_back({str(entry, {"name"}), str(entry, {"rolloutStrategy", "type"}, "All")});
  }
  return references;
}

bool supported(const Reference& reference) { return reference.strategy.empty() || reference.strategy == "All"; }

/// Of several works of the set in one cluster, the one to keep: of the wanted placement, then the oldest.
bool better(const OwnedWork& a, const OwnedWork& b, const std::string& placement) {
  const auto rank = [&](const OwnedWork& work) {
    return std::tuple(work.deleting, work.placement != placement, work.created, work.name);
  };
  return rank(a) < rank(b);
}

bool template_defines_progressing(const Json& set) {
  for (const Json& config : list_at(set, {"spec", "manifestWorkTemplate", "manifestConfigs"})) {
    for (const Json& rule : list_at(config, {"conditionRules"})) {
      if (str(rule, {"condition"}) == kConditionProgressing) return true;
    }
  }
  return false;
}

bool current_and_true(const OwnedWork& work, std::string_view type) {
  const Json* condition = condition_in(work.conditions, type);
  return condition != nullptr && str(*condition, {"status"}) == "True" &&
         num(*condition, {"observedGeneration"}) == work.generation;
}

bool rolled_out(const OwnedWork& work, bool needs_progressing) {
  if (!current_and_true(work, kConditionApplied)) return false;
  const Json* progressing = condition_in(work.conditions, kConditionProgressing);
  if (progressing == nullptr) return !needs_progressing;
  return str(*progressing, {"status"}) == "False" && num(*progressing, {"observedGeneration"}) == work.generation;
}

struct Totals {
  std::int64_t total = 0, applied = 0, available = 0, progressing = 0, degraded = 0;

  void count(const OwnedWork& work) {
    if (work.deleting) return;
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

Json without_timestamps(Json spec) {
  const auto workload = spec.find("workload");
  if (workload == spec.end() || !workload->is_object()) return spec;
  const auto manifests = workload->find("manifests");
  if (manifests == workload->end() || !manifests->is_array()) return spec;
  for (Json& manifest : *manifests) {
    erase_at(manifest, {"metadata", "creationTimestamp"});
    erase_at(manifest, {"spec", "template", "metadata", "creationTimestamp"});
  }
  return spec;
}

}  // namespace

std::string work_spec_hash(const Json& spec) {
  return pki::sha256_hex(dump_json(spec.is_object() ? without_timestamps(spec) : Json::object())).substr(0, 32);
}

std::string owner_label_of(const Json& set) { return namespace_of(set) + "." + name_of(set); }

std::string owner_label_problem(const Json& set) {
  const std::string value = owner_label_of(set);
  if (value.size() <= kMaxLabelValue) return {};
  return "ManifestWork owner reference \"" + value +
         "\" (namespace.name) is not a valid label value: must be no more than 63 bytes; " +
         "recreate the ManifestWorkReplicaSet with a shorter namespace and/or name so the combined length is at most 63 "
         "characters";
}

std::map<std::string, std::string> work_labels(const Json& set, const std::string& placement) {
  std::map<std::string, std::string> labels = strings_at(set, {"metadata", "labels"});
  labels[std::string(kReplicaSetLabel)] = owner_label_of(set);
  labels[std::string(kPlacementNameLabel)] = placement;
  return labels;
}

std::string work_name_of(const Json& set) {
  const std::string suffix = "-" + pki::sha256_hex(owner_label_of(set)).substr(0, 5);
  return name_of(set).substr(0, kMaxWorkName - suffix.size()) + suffix;
}

Json new_work(const Json& set, const WantedWork& wanted) {
  Json work = Json::object({{"apiVersion", kWorkApiVersion}, {"kind", "ManifestWork"}});
  work["metadata"] = Json::object({{"name", work_name_of(set)},
                                   {"generateName", name_of(set)},
                                   {"namespace", wanted.cluster},
                                   {"labels", work_labels(set, wanted.placement)}});
  work["spec"] = without_timestamps(object_at(set, {"spec", "manifestWorkTemplate"}));
  return work;
}

ReplicaSetPlan plan_replica_set(const Json& set, const std::map<std::string, PlacementView>& placements,
                                const std::vector<OwnedWork>& works) {
  ReplicaSetPlan plan;
  const std::vector<Reference> references = references_of(set);
  std::map<std::string, std::string> wanted;  // cluster → placement
  std::set<std::string> frozen;               // placements whose works stay as they are
  bool all_settled = true;
  for (const Reference& reference : references) {
    const auto view = placements.find(reference.placement);
    if (view == placements.end() || !view->second.exists) {
      plan.missing_placement = reference.placement;
      return plan;
    }
    if (!supported(reference)) {
      plan.refusal = "the rollout strategy " + reference.strategy + " of placement " + reference.placement +
                     " is not supported: nothing is changed on its clusters";
      frozen.insert(reference.placement);
      all_settled = false;
      continue;
    }
    if (!view->second.settled()) {
      frozen.insert(reference.placement);
      all_settled = false;
    }
    for (const std::string& cluster : view->second.clusters) wanted.emplace(cluster, reference.placement);
  }
  std::set<std::string> referenced;
  for (const Reference& reference : references) referenced.insert(reference.placement);

  std::map<std::string, const OwnedWork*> chosen;  // cluster → the work to keep there
  for (const OwnedWork& work : works) {
    const auto want = wanted.find(work.ns);
    if (want == wanted.end()) continue;
    const OwnedWork*& best = chosen[work.ns];
    if (best == nullptr || better(work, *best, want->second)) best = &work;
  }
  const std::string wanted_hash = work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"}));
  for (const OwnedWork& work : works) {
    const auto found = chosen.find(work.ns);
    if (found != chosen.end() && found->second == &work) {
      const std::string& placement = wanted.at(work.ns);
      plan.kept[placement].push_back(work);
      if (work.deleting) continue;
      const std::map<std::string, std::string> labels = work_labels(set, placement);
      const bool labelled = std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
        const auto has = work.labels.find(label.first);
        return has != work.labels.end() && has->second == label.second;
      });
      if (!labelled || work.spec_hash != wanted_hash) plan.update.push_back({work, placement});
      continue;
    }
    if (work.deleting) continue;
    const bool of_frozen = frozen.contains(work.placement);
    const bool unknown_origin = work.placement.empty() && !all_settled;
    if (found == chosen.end() && (of_frozen || unknown_origin) && referenced.contains(work.placement)) {
      plan.kept[work.placement].push_back(work);
      continue;
    }
    if (found == chosen.end() && unknown_origin) continue;
    plan.remove.push_back(work);
  }
  for (const auto& [cluster, placement] : wanted) {
    if (chosen.contains(cluster)) continue;
    plan.create.push_back({cluster, placement});
    ++plan.created_for[placement];
  }
  return plan;
}

Json invalid_name_status(const Json& set, const std::string& problem, Instant now) {
  Json status = object_at(set, {"status"});
  controller::set_condition(at_or_make(status, {"conditions"}), kManifestworkApplied, "False", "InvalidManifestWorkName", problem,
                            now);
  return status;
}

Json replica_set_status(const Json& set, const ReplicaSetPlan& plan, const std::map<std::string, PlacementView>& placements,
                        Instant now) {
  Json status = object_at(set, {"status"});
  Json& conditions = at_or_make(status, {"conditions"});
  if (!plan.missing_placement.empty()) {
    controller::set_condition(conditions, kVerified, "False", "PlacementDecisionNotFound", "", now);
    return status;
  }
  const bool needs_progressing = template_defines_progressing(set);
  const std::string wanted_hash = work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"}));
  Totals sum;
  std::int64_t selected = 0;
  std::int64_t succeeded = 0;
  Json summaries = Json::array();
  for (const Reference& reference : references_of(set)) {
    const PlacementView& view = placements.at(reference.placement);
    Totals totals;
    if (const auto kept = plan.kept.find(reference.placement); kept != plan.kept.end()) {
      totals.total = static_cast<std::int64_t>(kept->second.size());
      for (const OwnedWork& work : kept->second) {
        if (work.spec_hash != wanted_hash) continue;
        totals.count(work);
        succeeded += rolled_out(work, needs_progressing) && !work.deleting ? 1 : 0;
      }
    }
    if (const auto created = plan.created_for.find(reference.placement); created != plan.created_for.end())
      totals.total += created->second;
    selected += view.selected;
    Json summary = Json::object();
    summary["name"] = reference.placement;
    summary["availableDecisionGroups"] = std::to_string(view.groups) + " (" + std::to_string(totals.total) + " / " +
                                         std::to_string(view.selected) + " clusters applied)";
    summary["summary"] = totals.to_json();
    summaries.push_back(std::move(summary));
    sum += totals;
  }
  status["placementSummary"] = std::move(summaries);
  status["summary"] = sum.to_json();

  const bool empty = sum.total == 0;
  if (!plan.refusal.empty()) {
    controller::set_condition(conditions, kVerified, "False", "NotAsExpected", plan.refusal, now);
  } else if (empty) {
    controller::set_condition(conditions, kVerified, "False", "PlacementDecisionEmpty", "", now);
  } else {
    controller::set_condition(conditions, kVerified, "True", "AsExpected", "", now);
  }
  // A cluster that two placements select has one work: what counts is the clusters, not the sum of the selections.
  const bool complete = plan.refusal.empty() && plan.create.empty() && plan.remove.empty() && succeeded == sum.total &&
                        (selected == 0 || sum.total > 0);
  controller::set_condition(conditions, kRolledOut, complete ? "True" : "False", complete ? "Complete" : "Progressing",
                            plan.refusal, now);
  if (empty) {
    controller::set_condition(conditions, kManifestworkApplied, "False",
                              plan.refusal.empty() ? "PlacementDecisionEmpty" : "NotAsExpected", "", now);
  } else if (sum.available == sum.total && sum.progressing == 0 && sum.degraded == 0) {
    controller::set_condition(conditions, kManifestworkApplied, "True", "AsExpected", "", now);
  } else if (sum.progressing > 0 && sum.degraded == 0) {
    controller::set_condition(conditions, kManifestworkApplied, "False", "Processing", "", now);
  } else {
    controller::set_condition(conditions, kManifestworkApplied, "False", "NotAsExpected", "", now);
  }
  return status;
}

}  // namespace fleetadm::work
