// The apply loop of one ManifestWork (docs/reference/work.md#apply-loop, docs/reference/work.md#status-feedback). Every round
// computes everything anew from the work, the objects and the inventory; what is remembered only saves requests.
#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/agent/cleanup.h"
#include "core/work/agent/engine.h"
#include "core/work/agent/executor.h"
#include "core/work/agent/readiness_causes.h"
#include "core/work/rules/condition_rules.h"
#include "core/work/rules/feedback.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"

namespace fleetadm::work {
namespace {

constexpr Duration kFirstRetry = std::chrono::milliseconds(20);
constexpr Duration kLongestRetry = std::chrono::seconds(30);
constexpr Duration kDeniedRetry = std::chrono::seconds(60);
/// While changes of rights cannot be watched.
constexpr Duration kUnwatchedRightsLook = std::chrono::seconds(5);
constexpr Duration kStaleRetry = std::chrono::milliseconds(200);
constexpr Duration kWaitForApplied = std::chrono::seconds(5);
/// So many repairs in a row are done at once; then each waits twice as long as the one before.
constexpr int kFreeRepairs = 5;
constexpr Duration kRepairWindow = std::chrono::seconds(60);
constexpr Duration kLongestRepairWait = std::chrono::minutes(5);
/// A status that changes often is read this often at most, unless it is also fed back.
constexpr Duration kReadinessPace = std::chrono::seconds(1);
/// Pods change without the workload's own status: they are looked at again after this, and ever later.
constexpr Duration kFirstCauseLook = std::chrono::seconds(2);
constexpr Duration kLongestCauseLook = std::chrono::seconds(30);

/// One round for one work.
class Reconciliation {
 public:
  Reconciliation(Engine& engine, std::string name, std::stop_token stop)
      : engine_(engine), name_(std::move(name)), stop_(std::move(stop)), memory_(engine.memory_of(name_)) {}

  Result<controller::Outcome> run(Json work);

 private:
  Result<Json> ensure_finalizer(Json work);
  Result<std::optional<Json>> ensure_applied_work(const Json& work);
  void watch_objects();
  void apply_all(const Json& work);
  /// One manifest's way through a round. Only carry_out() sends requests, beside those of other manifests; what it needs to know
  /// was looked up before, and what it learned is kept afterwards, in apply order.
  struct Step {
    const Manifest& manifest;
    ManifestOptions options;
    bool owned = false;
    std::optional<ManifestResult> known;  // nothing is to be asked
    bool frozen = false;                  // only looked at
    std::optional<Fingerprint> seen;
    bool applied_before = false;
    bool may_repair = true;
    bool absent = false;
    ApplyOutcome outcome;
    bool denied = false;
    bool withheld = false;  // the executor may not read it: nothing about it is published
    std::optional<Readiness> readiness;
  };
  Step prepare(const Json& work, const Manifest& manifest);
  void carry_out(const Json& work, Step& step);
  ManifestResult conclude(const Json& work, Step& step);
  void apply_batch(const Json& work, const std::vector<std::size_t>& batch);
  Readiness judge_readiness(const Json& work, const Step& step) const;
  bool readiness_is_due(const ObjectMemory& object, bool changed);
  void keep_readiness(const Json& live, const Readiness& readiness, ObjectMemory& object);
  std::optional<ManifestResult> remembered(const Json& work, const Manifest& manifest, const ManifestOptions& options,
                                           bool owned);
  void take(const Json& work, const Manifest& manifest, const ManifestOptions& options, bool owned, const ApplyOutcome& outcome,
            ManifestResult& result);
  void withhold(const Json& work, const Step& step, ManifestResult& result);
  void note_repair(const Json& work, const Manifest& manifest, ObjectMemory& object);
  Result<Json> settle_inventory(Json applied_work);
  Result<Json> write_status(const Json& work, bool with_applied);
  Result<controller::Outcome> outcome();
  void look_again(Duration after) {
    if (!again_ || after < *again_) again_ = after;
  }

  Engine& engine_;
  std::string name_;
  std::stop_token stop_;
  std::shared_ptr<WorkMemory> memory_;
  std::vector<Manifest> manifests_;
  std::vector<ManifestResult> results_;
  std::vector<AppliedResource> found_;  // objects of this round, by manifest; uid empty where there is none
  Owner owner_;
  std::optional<Error> failure_;  // the first one that is worth an early retry
  bool denied_ = false;
  bool all_watched_ = true;
  bool executor_due_ = false;
  bool finished_ = false;  // the work is Complete: nothing is applied any more, only looked at
  std::optional<Duration> again_;
};

Place place_of(const Manifest& manifest) { return {*manifest.resource, manifest.ns, manifest.name}; }

bool is_complete(const Json& work) { return is_true(list_at(work, {"status", "conditions"}), kConditionComplete); }

Result<Json> Reconciliation::ensure_finalizer(Json work) {
  if (has_finalizer(work, kWorkFinalizer)) return work;
  Json wanted = work;
  Json& finalizers = at_or_make(wanted, {"metadata", "finalizers"});
  if (!finalizers.is_array()) finalizers = Json::array();
  finalizers.push_back(kWorkFinalizer);
  return engine_.patch_work(*memory_, work, wanted, {});
}

/// The AppliedManifestWork of the work, made or mended; nullopt while an old one is being deleted.
Result<std::optional<Json>> Reconciliation::ensure_applied_work(const Json& work) {
  const std::string name = applied_name(engine_.hash, name_);
  Json spec = Json::object({{"hubHash", engine_.hash}, {"agentID", engine_.agent_id}, {"manifestWorkName", name_}});
  Json known;
  if (const kube::CachedPtr cached = engine_.applied->get(name)) {
    known = cached->decode();
  } else {
    Json created = Json::object({{"apiVersion", kWorkApiVersion}, {"kind", kAppliedKind}, {"spec", spec}});
    Json metadata = Json::object({{"name", name}, {"finalizers", Json::array({kAppliedFinalizer})}});
    if (const Json& labels = object_at(work, {"metadata", "labels"}); !labels.empty()) metadata["labels"] = labels;
    created["metadata"] = std::move(metadata);
    kube::WriteOptions options;
    options.field_manager = kDefaultFieldManager;
    FLEETADM_TRY(known, engine_.spoke.create_or_get(api::applied_manifest_works(), {}, created, options));
  }
  if (is_deleting(known)) return std::optional<Json>();
  Json wanted = known;
  wanted["spec"] = std::move(spec);
  if (!has_finalizer(wanted, kAppliedFinalizer)) {
    Json& finalizers = at_or_make(wanted, {"metadata", "finalizers"});
    if (!finalizers.is_array()) finalizers = Json::array();
    finalizers.push_back(kAppliedFinalizer);
  }
  FLEETADM_TRY(Json patched, engine_.patch_applied(known, wanted, {}));
  memory_->applied.replaced(known, patched);
  return std::optional(std::move(patched));
}

void Reconciliation::watch_objects() {
  std::vector<Place> places;
  for (const Manifest& manifest : manifests_) {
    if (manifest.resource && !manifest.name.empty()) places.push_back(place_of(manifest));
  }
  engine_.watch->track(name_, places);
}

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

/// A kind that the work itself brings along may be served from any moment on.
bool defines_kind(const Json& work, const std::string& api_version, const std::string& kind) {
  const std::string group = kube::parse_api_version(api_version).group;
  const Json& manifests = list_at(work, {"spec", "workload", "manifests"});
  return std::any_of(manifests.begin(), manifests.end(), [&](const Json& manifest) {
    return str(manifest, {"kind"}) == "CustomResourceDefinition" && str(manifest, {"spec", "group"}) == group &&
           str(manifest, {"spec", "names", "kind"}) == kind;
  });
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
  Json regarding = work;  // as an item of a list it may lack its type
  regarding["apiVersion"] = kWorkApiVersion;
  regarding["kind"] = "ManifestWork";
  engine_.events.event(regarding, engine_.options.cluster, "Warning", "RepairBackOff", "Repair", what);
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

void Reconciliation::apply_batch(const Json& work, const std::vector<std::size_t>& batch) {
  std::vector<Step> steps;
  std::vector<Step*> due;
  steps.reserve(batch.size());
  for (const std::size_t i : batch) {
    steps.push_back(prepare(work, manifests_[i]));
    if (!steps.back().known) due.push_back(&steps.back());
  }
  engine_.helpers.run(due.size(), [&](std::size_t at) {
    carry_out(work, *due[at]);
    due[at]->readiness = judge_readiness(work, *due[at]);
  });
  for (std::size_t at = 0; at < batch.size(); ++at) {
    const std::size_t i = batch[at];
    const Manifest& manifest = manifests_[i];
    const std::string key = manifest.resource ? place_of(manifest).key() : std::string{};
    if (manifest.resource) {
      found_[i] = {manifest.group, manifest.resource->version, manifest.resource->plural, manifest.ns, manifest.name, {}};
      if (const auto known = memory_->objects.find(key); known != memory_->objects.end()) found_[i].uid = known->second.uid;
    }
    results_[i] = conclude(work, steps[at]);
    if (manifest.resource) {
      if (const auto known = memory_->objects.find(key); known != memory_->objects.end()) known->second.uid = found_[i].uid;
      all_watched_ = all_watched_ && engine_.watch->look(place_of(manifest)).known;
    }
  }
}

void Reconciliation::apply_all(const Json& work) {
  results_.resize(manifests_.size());
  found_.resize(manifests_.size());
  const Instant now = engine_.now();
  const bool has_executor = !object_at(work, {"spec", "executor"}).empty();
  const std::int64_t generation = num(work, {"metadata", "generation"});
  engine_.rights->track(name_, has_executor);
  executor_due_ =
      has_executor && (!engine_.rights->reliable() || memory_->executor_checked <= engine_.rights->settled_at() ||
                       memory_->executor_generation != generation || now - memory_->executor_checked >= engine_.options.resync);
  for (const std::vector<std::size_t>& batch : apply_batches(manifests_)) apply_batch(work, batch);
  for (std::size_t i = 0; i < manifests_.size(); ++i) {
    if (!manifests_[i].same_as) continue;
    results_[i] = results_[*manifests_[i].same_as];
    results_[i].meta = manifests_[i].meta();
  }
  if (executor_due_) {
    memory_->executor_checked = now;
    memory_->executor_generation = generation;
    if (!engine_.rights->reliable()) look_again(kUnwatchedRightsLook);
  }
  // The server may have answered by the rights of before.
  if (const Instant settled = engine_.rights->settled_at(); has_executor && now <= settled)
    look_again(settled - now + kFirstRetry);
  // What left the work is not remembered either.
  std::map<std::string, ObjectMemory> kept;
  for (const Manifest& manifest : manifests_) {
    if (!manifest.resource) continue;
    const std::string key = place_of(manifest).key();
    if (const auto known = memory_->objects.find(key); known != memory_->objects.end()) kept[key] = std::move(known->second);
  }
  memory_->objects = std::move(kept);
}

/// Brings AppliedManifestWork.status.appliedResources in line. Objects that left the work are deleted only in a round in which
/// every manifest was resolved and applied: a failed discovery or apply never deletes.
Result<Json> Reconciliation::settle_inventory(Json applied_work) {
  std::vector<AppliedResource> wanted;
  bool clean = true;
  for (std::size_t i = 0; i < manifests_.size(); ++i) {
    if (results_[i].applied || !manifests_[i].resource) clean = false;
    if (manifests_[i].resource && !found_[i].uid.empty()) wanted.push_back(found_[i]);
  }
  std::vector<AppliedResource> left;
  for (const AppliedResource& old : inventory_of(applied_work)) {
    const auto same =
        std::find_if(found_.begin(), found_.end(), [&](const AppliedResource& place) { return place.same_place(old); });
    if (same == found_.end()) {
      left.push_back(old);
    } else if (same->uid.empty() &&
               results_[static_cast<std::size_t>(same - found_.begin())].availability != Availability::kMissing) {
      wanted.push_back(old);  // still in the work, but it could not be read: it stays as it is known
    }
  }
  if (clean && !left.empty()) {
    CleanupResult cleaned = remove_resources(
        engine_.spoke, left, owner_, [&](const AppliedResource& resource) { return engine_.wanted_by_another(resource, name_); },
        engine_.helpers, *engine_.watch);
    left = std::move(cleaned.remaining);
    if (cleaned.error && !failure_) failure_ = cleaned.error;
    if (!left.empty() && !cleaned.error)
      look_again(backoff_delay(std::chrono::milliseconds(50), std::chrono::seconds(60), ++memory_->failures));
  }
  wanted.insert(wanted.end(), left.begin(), left.end());
  Json after = applied_work;
  at_or_make(after, {"status", "appliedResources"}) = inventory_json(std::move(wanted));
  if (list_at(after, {"status", "appliedResources"}).empty()) erase_at(after, {"status", "appliedResources"});
  if (inventory_of(after) == inventory_of(applied_work)) return applied_work;
  FLEETADM_TRY(Json patched, engine_.patch_applied(applied_work, after, "status"));
  memory_->applied.replaced(applied_work, patched);
  return patched;
}

Result<Json> Reconciliation::write_status(const Json& work, bool with_applied) {
  const std::int64_t generation = num(work, {"metadata", "generation"});
  Json after = work;
  Json& status = at_or_make(after, {"status"});
  if (!status.is_object()) status = Json::object();
  at_or_make(status, {"resourceStatus", "manifests"}) =
      manifest_statuses(list_at(work, {"status", "resourceStatus", "manifests"}), results_, generation, engine_.now());
  aggregate_conditions(status, generation, with_applied, engine_.now());
  aggregate_readiness(status, results_, generation, engine_.now());
  if (after == work) return work;
  return engine_.patch_work(*memory_, work, after, "status");
}

Result<controller::Outcome> Reconciliation::outcome() {
  controller::Outcome outcome;
  if (failure_) {
    log::info(2, "work", "work " + name_ + " is not complete: " + failure_->message);
    look_again(backoff_delay(kFirstRetry, kLongestRetry, ++memory_->failures));
  } else if (!again_) {
    memory_->failures = 0;
  }
  if (denied_) look_again(kDeniedRetry);
  if (!all_watched_) look_again(jittered(engine_.options.poll_interval, 0.9));
  look_again(jittered(engine_.options.resync, 0.5));
  outcome.requeue_after = again_;
  return outcome;
}

Result<controller::Outcome> Reconciliation::run(Json work) {
  finished_ = is_complete(work);
  // Two servers: neither waits for the other. Nothing is applied before both have answered.
  Result<Json> guarded = work;
  Result<std::optional<Json>> applied_work = std::nullopt;
  engine_.helpers.run(2, [&](std::size_t side) {
    if (side == 0) {
      guarded = ensure_finalizer(work);
    } else {
      applied_work = ensure_applied_work(work);
    }
  });
  if (!guarded) {
    // The work went meanwhile, and nothing else would end what was just made for it before the grace period of an eviction.
    const bool fresh = applied_work && *applied_work && inventory_of(**applied_work).empty();
    if (guarded.error().category == Category::kNotFound && fresh) FLEETADM_CHECK(end_applied_work(engine_, **applied_work));
    return tl::unexpected(std::move(guarded).error());
  }
  if (!applied_work) return tl::unexpected(std::move(applied_work).error());
  if (!*applied_work) return controller::Outcome{kWaitForApplied};
  work = std::move(*guarded);
  Json& inventory = **applied_work;
  owner_ = {name_of(inventory), uid_of(inventory)};

  manifests_ = decode_manifests(work, [&](const std::string& api_version, const std::string& kind) -> Result<kube::Resource> {
    Result<kube::DiscoveredResource> known = engine_.mapper.by_kind(api_version, kind);
    if (!known && known.error().category == Category::kNotFound && defines_kind(work, api_version, kind)) {
      engine_.mapper.invalidate();
      known = engine_.mapper.by_kind(api_version, kind);
    }
    if (!known) return tl::unexpected(known.error());
    return known->resource;
  });
  watch_objects();
  apply_all(work);
  if (stop_.stop_requested()) return fail(Category::kCancelled, "stopped");
  // The hub first: it is what people wait for. What the inventory lacks meanwhile, the garbage collector takes away by its owner.
  FLEETADM_CHECK(write_status(work, !finished_));
  FLEETADM_CHECK(settle_inventory(std::move(inventory)));
  return outcome();
}

}  // namespace

Result<controller::Outcome> reconcile_work(Engine& engine, const std::string& name, std::stop_token stop) {
  const kube::CachedPtr cached = engine.works->get(engine.work_key(name));
  if (!cached) {
    engine.forget(name);
    const std::string applied = applied_name(engine.hash, name);
    if (engine.applied->get(applied)) engine.applied_queue->add(applied);
    return controller::Outcome{};
  }
  Json work = cached->decode();
  const std::shared_ptr<WorkMemory> memory = engine.memory_of(name);
  if (memory->work.holds(cached->resource_version())) return controller::Outcome{kStaleRetry};
  if (const kube::CachedPtr applied = engine.applied->get(applied_name(engine.hash, name))) {
    if (memory->applied.holds(applied->resource_version())) return controller::Outcome{kStaleRetry};
  }
  Result<controller::Outcome> result =
      is_deleting(work) ? finish_work(engine, work) : Reconciliation(engine, name, std::move(stop)).run(std::move(work));
  if (!result) {
    memory->work.clear();
    memory->applied.clear();
    if (result.error().category == Category::kConflict) return controller::Outcome{kFirstRetry};
  }
  return result;
}

}  // namespace fleetadm::work
