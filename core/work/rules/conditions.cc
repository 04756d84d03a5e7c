#include "core/work/rules/conditions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/controller/controller.h"
#include "core/work/rules/names.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::work {
namespace {

constexpr std::string_view kRuleReasonPrefix = "ConditionRule";
constexpr std::string_view kAggregated = "ConditionRulesAggregated";

void remove_condition(Json& conditions, std::string_view type) {
  Json kept = Json::array();
  for (Json& condition : conditions) {
    if (str(condition, {"type"}) != type) kept.push_back(std::move(condition));
  }
  conditions = std::move(kept);
}

bool is_rule_reason(const Json& condition) { return str(condition, {"reason"}).starts_with(kRuleReasonPrefix); }

void set_applied(Json& conditions, const ManifestResult& result, std::int64_t generation, Instant now) {
  // A new generation starts a new condition, last in the list, as every other agent writes it.
  if (const Json* old = condition_in(conditions, kConditionApplied);
      old != nullptr && num(*old, {"observedGeneration"}) != generation) {
    remove_condition(conditions, kConditionApplied);
  }
  if (!result.applied) {
    controller::set_condition(conditions, kConditionApplied, "True", "AppliedManifestComplete", "Apply manifest complete", now,
                              generation);
    return;
  }
  const std::string reason = result.failure_reason.empty() ? "AppliedManifestFailed" : result.failure_reason;
  const std::string prefix =
      reason == "AppliedManifestSSAIgnoreFieldError" ? "Failed to process ignoreFields: " : "Failed to apply manifest: ";
  controller::set_condition(conditions, kConditionApplied, "False", reason, prefix + result.applied->message, now, generation);
}

void set_available(Json& conditions, const ManifestResult& result, Instant now) {
  switch (result.availability) {
    case Availability::kAvailable:
      controller::set_condition(conditions, kConditionAvailable, "True", "ResourceAvailable", "Resource is available", now);
      break;
    case Availability::kMissing:
      controller::set_condition(conditions, kConditionAvailable, "False", "ResourceNotAvailable", "Resource is not available",
                                now);
      break;
    case Availability::kUnknown:
      controller::set_condition(conditions, kConditionAvailable, "Unknown", result.unknown_reason, result.unknown_message, now);
      break;
  }
}

void set_feedback(Json& entry, const ManifestResult& result, Instant now) {
  Json wanted = Json::object();
  if (!result.feedback.empty()) wanted["values"] = result.feedback;
  const Json before = object_at(entry, {"statusFeedback"});
  std::string status = "True";
  std::string reason = result.feedback_asked || !result.feedback.empty() ? "StatusFeedbackSynced" : "NoStatusFeedbackSynced";
  std::string message;
  if (!result.feedback_error.empty()) {
    status = "False";
    reason = "StatusFeedbackSyncFailed";
    message = "Sync status feedback failed with error " + result.feedback_error;
  }
  Json& conditions = at_or_make(entry, {"conditions"});
  const Json* old = condition_in(conditions, kConditionFeedback);
  if (old != nullptr && (before != wanted || str(*old, {"reason"}) != reason)) remove_condition(conditions, kConditionFeedback);
  controller::set_condition(conditions, kConditionFeedback, status, reason, message, now);
  entry["statusFeedback"] = std::move(wanted);
}

void set_rule_conditions(Json& conditions, const ManifestResult& result, std::int64_t generation, Instant now) {
  Json kept = Json::array();
  for (Json& condition : conditions) {
    const bool current = !is_rule_reason(condition) || condition_in(result.rule_conditions, str(condition, {"type"})) != nullptr;
    if (current) kept.push_back(std::move(condition));
  }
  conditions = std::move(kept);
  for (const Json& wanted : result.rule_conditions) {
    controller::set_condition(conditions, str(wanted, {"type"}), str(wanted, {"status"}), str(wanted, {"reason"}),
                              str(wanted, {"message"}), now, generation);
  }
}

/// Behind what other agents write, whatever was reported first.
void set_ready(Json& conditions, const Readiness& readiness, std::int64_t generation, Instant now) {
  controller::set_condition(conditions, kConditionReady, to_string(readiness.state), readiness.reason, readiness.message, now,
                            generation);
  Json own = *condition_in(conditions, kConditionReady);
  remove_condition(conditions, kConditionReady);
  conditions.push_back(std::move(own));
}

struct Counts {
  int total = 0;
  int is_true = 0;
  int is_false = 0;
  int unknown = 0;
  std::string message;  // of the only manifest, where there is one

  void add(const Json& condition) {
    ++total;
    message = str(condition, {"message"});
    const std::string status = str(condition, {"status"});
    if (status == "True") {
      ++is_true;
    } else if (status == "False") {
      ++is_false;
    } else {
      ++unknown;
    }
  }
};

void set_work_applied(Json& conditions, const Json& manifests, std::int64_t generation, Instant now) {
  const bool all = std::all_of(manifests.begin(), manifests.end(),
                               [](const Json& entry) { return is_true(list_at(entry, {"conditions"}), kConditionApplied); });
  if (all) {
    controller::set_condition(conditions, kConditionApplied, "True", "AppliedManifestWorkComplete",
                              "Apply manifest work complete", now, generation);
  } else {
    controller::set_condition(conditions, kConditionApplied, "False", "AppliedManifestWorkFailed",
                              "Failed to apply manifest work", now, generation);
  }
}

void set_work_available(Json& conditions, const Json& manifests, std::int64_t generation, Instant now) {
  Counts counts;
  for (const Json& entry : manifests) {
    if (const Json* available = condition_in(list_at(entry, {"conditions"}), kConditionAvailable)) counts.add(*available);
  }
  const auto of_all = [&](int n) { return std::to_string(n) + " of " + std::to_string(counts.total) + " resources "; };
  std::string status = "True";
  std::string reason = "ResourcesAvailable";
  std::string message = "All resources are available";
  if (counts.total == 0) {
    status = "Unknown";
    reason = "ResourcesStatusUnknown";
    message = "cannot get any available resource ";  // the trailing space is on the wire upstream
  } else if (counts.is_false > 0) {
    status = "False";
    reason = "ResourcesNotAvailable";
    message = of_all(counts.is_false) + "are not available";
  } else if (counts.unknown > 0) {
    status = "Unknown";
    reason = "ResourcesStatusUnknown";
    message = of_all(counts.unknown) + "have unknown status";
  }
  controller::set_condition(conditions, kConditionAvailable, status, reason, message, now, generation);
}

std::string aggregated_status(std::string_view type, const Counts& counts) {
  if (type == kConditionProgressing) {
    if (counts.is_true > 0) return "True";
    return counts.unknown > 0 ? "Unknown" : "False";
  }
  if (counts.is_false > 0) return "False";
  return counts.unknown > 0 || counts.is_true == 0 ? "Unknown" : "True";
}

void set_work_rule_conditions(Json& conditions, const Json& manifests, std::int64_t generation, Instant now) {
  std::map<std::string, Counts> types;
  for (const Json& entry : manifests) {
    for (const Json& condition : list_at(entry, {"conditions"})) {
      if (is_rule_reason(condition) && num(condition, {"observedGeneration"}) == generation)
        types[str(condition, {"type"})].add(condition);
    }
  }
  Json kept = Json::array();
  for (Json& condition : conditions) {
    if (!is_rule_reason(condition) || types.contains(str(condition, {"type"}))) kept.push_back(std::move(condition));
  }
  conditions = std::move(kept);
  for (const auto& [type, counts] : types) {
    const std::string message =
        counts.total == 1 ? counts.message : "Aggregated from " + std::to_string(counts.total) + " manifest conditions";
    controller::set_condition(conditions, type, aggregated_status(type, counts), kAggregated, message, now, generation);
  }
}

}  // namespace

const Json* condition_in(const Json& conditions, std::string_view type) {
  if (!conditions.is_array()) return nullptr;
  const auto found =
      std::find_if(conditions.begin(), conditions.end(), [&](const Json& condition) { return str(condition, {"type"}) == type; });
  return found == conditions.end() ? nullptr : &*found;
}

bool is_true(const Json& conditions, std::string_view type) {
  const Json* condition = condition_in(conditions, type);
  return condition != nullptr && str(*condition, {"status"}) == "True";
}

const Json* status_entry(const Json& manifests, const Json& meta) {
  if (!manifests.is_array()) return nullptr;
  const Json* same_place = nullptr;
  for (const Json& entry : manifests) {
    const Json& other = object_at(entry, {"resourceMeta"});
    if (other == meta) return &entry;
    const bool same = str(other, {"group"}) == str(meta, {"group"}) && str(other, {"kind"}) == str(meta, {"kind"}) &&
                      str(other, {"namespace"}) == str(meta, {"namespace"}) && str(other, {"name"}) == str(meta, {"name"});
    if (same && same_place == nullptr && !str(meta, {"kind"}).empty()) same_place = &entry;
  }
  return same_place;
}

Json manifest_statuses(const Json& previous, const std::vector<ManifestResult>& results, std::int64_t generation, Instant now) {
  Json manifests = Json::array();
  for (const ManifestResult& result : results) {
    Json entry = Json::object();
    if (const Json* old = status_entry(previous, result.meta)) entry = *old;
    entry["resourceMeta"] = result.meta;
    Json& conditions = at_or_make(entry, {"conditions"});
    if (!conditions.is_array()) conditions = Json::array();
    if (result.applied_now) set_applied(conditions, result, generation, now);
    set_available(conditions, result, now);
    if (result.was_read) {
      set_rule_conditions(conditions, result, generation, now);
      set_feedback(entry, result, now);
    }
    if (result.readiness) set_ready(conditions, *result.readiness, generation, now);
    if (find(entry, {"statusFeedback"}) == nullptr) entry["statusFeedback"] = Json::object();
    manifests.push_back(std::move(entry));
  }
  return manifests;
}

void aggregate_conditions(Json& status, std::int64_t generation, bool with_applied, Instant now) {
  const Json manifests = list_at(status, {"resourceStatus", "manifests"});
  Json& conditions = at_or_make(status, {"conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  if (with_applied) set_work_applied(conditions, manifests, generation, now);
  set_work_available(conditions, manifests, generation, now);
  set_work_rule_conditions(conditions, manifests, generation, now);
}

void aggregate_readiness(Json& status, const std::vector<ManifestResult>& results, std::int64_t generation, Instant now) {
  const ManifestResult* worst = nullptr;
  const auto rank = [](const Readiness& one) {
    if (one.state == ReadyState::kTrue) return 0;
    return one.state == ReadyState::kUnknown ? 1 : one.terminal ? 3 : 2;
  };
  std::size_t ready = 0;
  for (const ManifestResult& result : results) {
    if (!result.readiness) continue;
    if (result.readiness->state == ReadyState::kTrue) ++ready;
    if (worst == nullptr || rank(*result.readiness) > rank(*worst->readiness)) worst = &result;
  }
  Json& conditions = at_or_make(status, {"conditions"});
  if (worst == nullptr) return remove_condition(conditions, kConditionReady);
  const Readiness& why = *worst->readiness;
  std::string reason = "ResourcesReady";
  std::string message = "All resources are ready";
  if (why.state != ReadyState::kTrue) {
    reason = why.terminal                        ? std::string(kReasonFailed)
             : why.state == ReadyState::kUnknown ? "ResourcesReadinessUnknown"
                                                 : "ResourcesNotReady";
    const std::string place = kube::object_key(str(worst->meta, {"namespace"}), str(worst->meta, {"name"}));
    message = str(worst->meta, {"kind"}) + " " + place + ": " + why.reason + ": " + why.message;
    if (results.size() - ready > 1) message += " (and " + std::to_string(results.size() - ready - 1) + " more)";
  }
  set_ready(conditions, {why.state, std::move(reason), std::move(message), why.terminal}, generation, now);
}

void set_deleting(Json& status, std::int64_t generation, Instant now) {
  Json& conditions = at_or_make(status, {"conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  controller::set_condition(conditions, kConditionDeleting, "True", "WorkDeleting", "ManifestWork is being deleted", now,
                            generation);
}

}  // namespace fleetadm::work
