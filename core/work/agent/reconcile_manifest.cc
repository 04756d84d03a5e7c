// A manifest's way through a round: what is known of it, what is asked and written, and what is kept.
#include <algorithm>
#include <utility>

#include "core/work/agent/executor.h"
#include "core/work/agent/readiness_causes.h"
#include "core/work/agent/reconciliation.h"
#include "core/work/rules/condition_rules.h"
#include "core/work/rules/feedback.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"

namespace fleetadm::work {
namespace {

/// So many repairs in a row are done at once; then each waits twice as long as the one before.
constexpr int kFreeRepairs = 5;
constexpr Duration kRepairWindow = std::chrono::seconds(60);
constexpr Duration kLongestRepairWait = std::chrono::minutes(5);
/// A status that changes often is read this often at most, unless it is also fed back.
constexpr Duration kReadinessPace = std::chrono::seconds(1);
/// Pods change without the workload's own status: they are looked at again after this, and ever later.
constexpr Duration kFirstCauseLook = std::chrono::seconds(2);
constexpr Duration kLongestCauseLook = std::chrono::seconds(30);

/// Who wrote the object last, other than us: from managedFields.
std::string last_writer(const Json& live, const std::string& ours) {
  std::string writer;
  std::string latest;
  for (const Json& entry : list_at(live, {"metadata", "managedFields"})) {
    const std::string manager = str(entry, {"manager"});
    const std::string time = str(entry, {"time"});
    if (manager == ours || manager == kDefaultFieldManager || !str(entry, {"subresource"}).empty() || time < latest) continue;
    latest = time;
    writer = manager;
  }
  return writer.empty() ? "someone else" : writer;
}

}  // namespace

/// Where the watch saw no change since the last round, nothing is asked and nothing is written.
std::optional<ManifestResult> Reconciliation::remembered(const Json& work, const Manifest& manifest,
                                                         const ManifestOptions& options, bool owned) {
  const auto known = memory_->objects.find(place_of(manifest).key());
  if (known == memory_->objects.end() || executor_due_) return std::nullopt;
  const ObjectMemory& object = known->second;
  if (object.seen.manifest != manifest_hash(manifest.object) || object.seen.owned != owned) return std::nullopt;
  if (object.repair_after > engine_.now()) return std::nullopt;
  const ObjectWatch::Observation sighting = engine_.watch->look(place_of(manifest));
  if (!sighting.known || !sighting.exists) return std::nullopt;
  const bool reports = !options.feedback_rules.empty() || !options.condition_rules.empty();
  if (reports ? sighting.resource_version != object.resource_version : sighting.signature != object.signature)
    return std::nullopt;
  if (has_readiness(manifest.group, manifest.kind) &&
      readiness_is_due(object, sighting.resource_version != object.resource_version)) {
    return std::nullopt;
  }
  // The rules themselves belong to the work's generation: a new one is evaluated anew.
  if (reports) {
    const Json* entry = status_entry(list_at(work, {"status", "resourceStatus", "manifests"}), manifest.meta());
    const Json* applied = entry == nullptr ? nullptr : condition_in(list_at(*entry, {"conditions"}), kConditionApplied);
    if (applied == nullptr || num(*applied, {"observedGeneration"}) != num(work, {"metadata", "generation"})) return std::nullopt;
  }
  ManifestResult result;
  result.meta = manifest.meta();
  result.applied_now = !finished_;
  result.availability = Availability::kAvailable;
  result.was_read = true;
  result.feedback_asked = !options.feedback_rules.empty();
  if (!object.feedback.is_null()) result.feedback = object.feedback;
  result.feedback_error = object.feedback_error;
  if (!object.rule_conditions.is_null()) result.rule_conditions = object.rule_conditions;
  result.readiness = object.readiness;
  return result;
}

/// Whether the readiness has to be judged anew; where only not yet, the next look is arranged.
bool Reconciliation::readiness_is_due(const ObjectMemory& object, bool changed) {
  if (!changed && object.readiness_looks == 0) return false;
  const Duration wait = changed ? kReadinessPace : backoff_delay(kFirstCauseLook, kLongestCauseLook, object.readiness_looks);
  const Duration left = object.readiness_read + wait - engine_.now();
  if (left <= Duration::zero()) return true;
  look_again(left);
  return false;
}

/// Of an object that the executor may not read, nothing is said.
Readiness Reconciliation::judge_readiness(const Json& work, const Step& step) const {
  if (step.withheld)
    return {ReadyState::kUnknown, "ExecutorDenied", "the executor of the work has no access to the object", false};
  // What has completed may be cleaned up, as Jobs with a time to live are.
  if (step.frozen && step.outcome.missing) return {ReadyState::kTrue, "Completed", "the manifest has completed", false};
  if (step.outcome.missing) return {ReadyState::kFalse, "NotFound", "the object does not exist", false};
  if (!step.outcome.live) return {ReadyState::kUnknown, "NotRead", "the object could not be read", false};
  if (step.outcome.error) return {ReadyState::kFalse, "NotApplied", "the manifest is not applied", false};
  const Json& live = *step.outcome.live;
  return with_cause(engine_.spoke, live, readiness_of(live), [&](const std::string& resource) {
    return executor_may_list(engine_.spoke, work, resource, namespace_of(live));
  });
}

void Reconciliation::keep_readiness(const Json& live, const Readiness& readiness, ObjectMemory& object) {
  object.readiness_looks = has_cause_elsewhere(live, readiness) ? object.readiness_looks + 1 : 0;
  object.readiness = readiness;
  object.readiness_read = engine_.now();
  if (object.readiness_looks > 0) look_again(backoff_delay(kFirstCauseLook, kLongestCauseLook, object.readiness_looks));
}

void Reconciliation::note_repair(const Json& work, const Manifest& manifest, ObjectMemory& object) {
  const Instant now = engine_.now();
  object.repairs = now - object.last_repair < kRepairWindow + kLongestRepairWait ? object.repairs + 1 : 1;
  object.last_repair = now;
  log::info(1, "work", "repaired " + manifest.describe() + " of work " + name_);
  if (object.repairs <= kFreeRepairs) return;
  object.repair_after = now + backoff_delay(std::chrono::seconds(1), kLongestRepairWait, object.repairs - kFreeRepairs);
  if (object.repairs != kFreeRepairs + 1) return;
  const std::string what = manifest.describe() + " keeps being changed or deleted by someone else: it is repaired less often";
  log::warn("work", what + " (work " + name_ + ")");
  engine_.works->warn(work, "RepairBackOff", "Repair", what);
}

/// Keeps what is worth remembering of an object and fills in what it says of itself.
void Reconciliation::take(const Json& work, const Manifest& manifest, const ManifestOptions& options, bool owned,
                          const ApplyOutcome& outcome, ManifestResult& result) {
  const std::string key = place_of(manifest).key();
  if (outcome.missing) {
    result.availability = Availability::kMissing;
  } else if (outcome.live) {
    result.availability = Availability::kAvailable;
  } else {
    result.unknown_reason = "FetchingResourceFailed";
    const std::optional<Error>& why = outcome.read_error ? outcome.read_error : outcome.error;
    result.unknown_message = why ? why->message : "the object could not be read";
  }
  const bool left_alone = outcome.change == Change::kDrift && !outcome.wrote && !outcome.error;
  if (left_alone) {
    // In words that stay the same, so that a long fight is not a stream of status writes.
    const std::string done = outcome.live ? "keeps being changed by " + last_writer(*outcome.live, options.strategy.field_manager)
                                          : "keeps being deleted";
    result.applied = fail(Category::kConflict, manifest.describe() + " " + done + "; it is repaired less and less often").value();
  }
  if (!outcome.live) {
    if (!left_alone) {
      memory_->objects.erase(key);
    } else if (const auto known = memory_->objects.find(key); known != memory_->objects.end()) {
      look_again(known->second.repair_after - engine_.now());
    }
    return;
  }
  const Json& live = *outcome.live;
  result.was_read = true;
  FeedbackOptions feedback_options;
  feedback_options.raw_json = engine_.options.raw_feedback;
  feedback_options.max_raw_length = engine_.options.max_raw_length;
  FeedbackResult feedback = feedback_of(options.feedback_rules, live, feedback_options);
  result.feedback_asked = !options.feedback_rules.empty();
  result.feedback = std::move(feedback.values);
  result.feedback_error = std::move(feedback.error);
  result.rule_conditions = evaluate_condition_rules(options.condition_rules, live);

  if (outcome.error) {
    memory_->objects.erase(key);
    return;
  }
  ObjectMemory& object = memory_->objects[key];
  if (!left_alone) object.seen = {manifest_hash(manifest.object), fingerprint(live), owned};
  // What is left alone for now must not look settled to the next round.
  object.resource_version = left_alone ? std::string{} : resource_version_of(live);
  object.signature = left_alone ? std::string{} : signature_of(live);
  object.feedback = result.feedback.empty() ? Json() : result.feedback;
  object.feedback_error = result.feedback_error;
  object.rule_conditions = result.rule_conditions.empty() ? Json() : result.rule_conditions;
  if (result.readiness) keep_readiness(live, *result.readiness, object);
  if (outcome.wrote && outcome.change == Change::kDrift) note_repair(work, manifest, object);
  if (object.repair_after > engine_.now()) look_again(object.repair_after - engine_.now());
}

/// Takes back what was published of the object. That a manifest is complete stays: nothing would start again what has ended.
void Reconciliation::withhold(const Json& work, const Step& step, ManifestResult& result) {
  result.was_read = true;
  result.feedback_asked = !step.options.feedback_rules.empty();
  if (result.feedback_asked) result.feedback_error = step.outcome.read_error->message;
  if (!step.frozen) return;
  const Json* entry = status_entry(list_at(work, {"status", "resourceStatus", "manifests"}), result.meta);
  const Json* complete = entry == nullptr ? nullptr : condition_in(list_at(*entry, {"conditions"}), kConditionComplete);
  if (complete != nullptr) result.rule_conditions.push_back(*complete);
}

Reconciliation::Step Reconciliation::prepare(const Json& work, const Manifest& manifest) {
  Step step{manifest};
  if (manifest.error) {
    ManifestResult result;
    result.meta = manifest.meta();
    result.applied_now = !finished_;
    result.applied = manifest.error;
    result.unknown_reason = "IncompleteResourceMeta";
    result.unknown_message = "Resource meta is incomplete";
    result.readiness = Readiness{ReadyState::kFalse, "NotApplied", "the manifest is not applied", false};
    step.known = std::move(result);
    return step;
  }
  step.options = options_for(work, manifest);
  step.owned = is_owned(work, manifest) && step.options.strategy.type != StrategyType::kReadOnly;
  step.known = remembered(work, manifest, step.options, step.owned);
  if (step.known) return step;

  const Json* entry = status_entry(list_at(work, {"status", "resourceStatus", "manifests"}), manifest.meta());
  const Json& conditions = entry == nullptr ? Json::array() : list_at(*entry, {"conditions"});
  step.frozen = finished_ || is_true(conditions, kConditionComplete);
  const Json* condition = condition_in(conditions, kConditionApplied);
  step.applied_before = condition != nullptr && str(*condition, {"status"}) == "True" &&
                        num(*condition, {"observedGeneration"}) == num(work, {"metadata", "generation"});
  const ObjectWatch::Observation sighting = engine_.watch->look(place_of(manifest));
  step.absent = sighting.known && !sighting.exists;
  if (const auto memory = memory_->objects.find(place_of(manifest).key()); memory != memory_->objects.end()) {
    step.seen = memory->second.seen;
    step.may_repair = memory->second.repair_after <= engine_.now();
  }
  return step;
}

void Reconciliation::carry_out(const Json& work, Step& step) {
  const Status may_apply = step.frozen ? Status{} : check_executor(engine_.spoke, work, step.manifest, step.owned);
  if (may_apply && !step.frozen) {
    step.outcome = engine_.applier.apply(
        {step.manifest, step.options.strategy, owner_, step.owned, step.seen, step.applied_before, step.may_repair, step.absent});
    return;
  }
  if (const Status may_read = check_executor_reads(engine_.spoke, work, step.manifest); may_read) {
    step.outcome = engine_.applier.read(step.manifest);
  } else {
    step.outcome.read_error = may_read.error();
    step.withheld = may_read.error().reason == kExecutorDenied;
  }
  if (!may_apply) step.outcome.error = may_apply.error();
  step.denied = !may_apply || step.withheld;
}

ManifestResult Reconciliation::conclude(const Json& work, Step& step) {
  const Manifest& manifest = step.manifest;
  if (step.known) {
    if (manifest.error && !failure_) failure_ = manifest.error;
    return std::move(*step.known);
  }
  ManifestResult result;
  result.meta = manifest.meta();
  result.applied_now = !finished_;
  const ApplyOutcome& applied = step.outcome;
  if (applied.wrote && manifest.kind == "CustomResourceDefinition") engine_.mapper.invalidate();
  denied_ = denied_ || step.denied;
  result.applied = applied.error;
  result.failure_reason = applied.failure_reason;
  // A conflict of server-side apply is the owner of the field saying no: asking again soon changes nothing.
  const bool refused = applied.error && step.options.strategy.type == StrategyType::kServerSideApply &&
                       applied.error->category == Category::kConflict;
  if (applied.error && !refused && !denied_ && !failure_) failure_ = applied.error;
  result.readiness = step.readiness;
  take(work, manifest, step.options, step.owned, applied, result);
  if (step.withheld) withhold(work, step, result);
  if (applied.live) {
    found_[static_cast<std::size_t>(manifest.ordinal)].uid = uid_of(*applied.live);
  }
  return result;
}

}  // namespace fleetadm::work
