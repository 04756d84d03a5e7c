// The apply loop of one ManifestWork (docs/reference/work.md#apply-loop, docs/reference/work.md#status-feedback).
#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/agent/cleanup.h"
#include "core/work/agent/reconciliation.h"
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

/// A kind that the work itself brings along may be served from any moment on.
bool defines_kind(const Json& work, const std::string& api_version, const std::string& kind) {
  const std::string group = kube::parse_api_version(api_version).group;
  const Json& manifests = list_at(work, {"spec", "workload", "manifests"});
  return std::any_of(manifests.begin(), manifests.end(), [&](const Json& manifest) {
    return str(manifest, {"kind"}) == "CustomResourceDefinition" && str(manifest, {"spec", "group"}) == group &&
           str(manifest, {"spec", "names", "kind"}) == kind;
  });
}

bool is_complete(const Json& work) { return is_true(list_at(work, {"status", "conditions"}), kConditionComplete); }

}  // namespace

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

Result<controller::Outcome> reconcile_work(Engine& engine, const std::string& name, std::stop_token stop) {
  const kube::CachedPtr cached = engine.works->get(name);
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
