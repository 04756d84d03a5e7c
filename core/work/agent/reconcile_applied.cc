// The end of a work: the deletion handshake, the deletion of what a work owns, and the eviction of what no work stands for any
// more (docs/reference/work.md#deletion-of-a-work).
#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/agent/cleanup.h"
#include "core/work/agent/engine.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"

namespace fleetadm::work {
namespace {

constexpr Duration kHandshakeLook = std::chrono::seconds(1);
constexpr Duration kRemovalLook = std::chrono::milliseconds(50);
constexpr Duration kForEver = std::chrono::hours(24) * 365 * 100;

Json without_finalizer(const Json& object, std::string_view finalizer) {
  Json after = object;
  Json kept = Json::array();
  for (const Json& entry : list_at(object, {"metadata", "finalizers"})) {
    if (entry != finalizer) kept.push_back(entry);
  }
  if (kept.empty()) {
    erase_at(after, {"metadata", "finalizers"});
  } else {
    at_or_make(after, {"metadata", "finalizers"}) = std::move(kept);
  }
  return after;
}

/// Objects that are to stay lose our owner reference before the owner goes: the work may have become orphaning just now, and
/// neither we nor the garbage collector may take them away.
Status release_orphans(Engine& engine, const Json& work, const Owner& owner) {
  const std::string policy = str(work, {"spec", "deleteOption", "propagationPolicy"});
  if (policy != "Orphan" && policy != "SelectivelyOrphan") return {};
  const auto resolve = [&](const std::string& api_version, const std::string& kind) { return engine.resolve(api_version, kind); };
  for (const Manifest& manifest : decode_manifests(work, resolve)) {
    if (is_owned(work, manifest)) continue;
    if (manifest.error && !manifest.resource) {
      // A kind that the cluster does not have has no objects; what discovery could not tell must be asked again.
      if (manifest.error->category == Category::kNotFound || manifest.error->category == Category::kInvalid) continue;
      return tl::unexpected(*manifest.error);
    }
    FLEETADM_TRY(const std::optional<Json> live, engine.spoke.find(*manifest.resource, manifest.ns, manifest.name));
    if (!live) continue;
    const Json patch = owner_patch(*live, owner, false);
    if (patch.empty()) continue;
    kube::WriteOptions options;
    options.field_manager = kDefaultFieldManager;
    Result<Json> patched =
        engine.spoke.patch(*manifest.resource, manifest.ns, manifest.name, kube::PatchType::kMerge, patch, options);
    if (!patched && patched.error().category != Category::kNotFound) return tl::unexpected(patched.error());
  }
  return {};
}

Result<controller::Outcome> finalize_applied(Engine& engine, const Json& applied_work) {
  if (!has_finalizer(applied_work, kAppliedFinalizer)) return controller::Outcome{};
  const Owner owner{name_of(applied_work), uid_of(applied_work)};
  const std::vector<AppliedResource> before = inventory_of(applied_work);
  // Of another hub's works the names mean nothing here: what any work of this hub wants, it takes over.
  const bool own = str(applied_work, {"spec", "hubHash"}) == engine.hash;
  const std::string work = own ? str(applied_work, {"spec", "manifestWorkName"}) : std::string();
  CleanupResult cleaned = remove_resources(
      engine.spoke, before, owner, [&](const AppliedResource& resource) { return engine.wanted_by_another(resource, work); },
      engine.helpers, *engine.watch);
  Json current = applied_work;
  // Where nothing remains, the inventory ends with the object that holds it.
  if (!cleaned.remaining.empty() && cleaned.remaining != before) {
    Json after = current;
    at_or_make(after, {"status", "appliedResources"}) = inventory_json(cleaned.remaining);
    FLEETADM_TRY(current, engine.patch_applied(current, after, "status"));
  }
  if (cleaned.error) return tl::unexpected(*cleaned.error);
  if (!cleaned.remaining.empty()) return controller::Outcome{jittered(kRemovalLook, 1.0)};
  FLEETADM_CHECK(engine.patch_applied(current, without_finalizer(current, kAppliedFinalizer), {}));
  return controller::Outcome{};
}

/// The work is missing by a read of the hub itself: the cache alone never starts an eviction.
Result<bool> work_is_missing(Engine& engine, const Json& applied_work) {
  if (str(applied_work, {"spec", "hubHash"}) != engine.hash) return true;
  const std::string work = str(applied_work, {"spec", "manifestWorkName"});
  if (engine.works->get(work)) return false;
  FLEETADM_TRY(const std::optional<Json> live, engine.works->read(work));
  return !live.has_value();
}

Result<controller::Outcome> evict(Engine& engine, const Json& applied_work) {
  FLEETADM_TRY(const bool missing, work_is_missing(engine, applied_work));
  const std::string since = str(applied_work, {"status", "evictionStartTime"});
  // A clock that ran under another grace period would delete everything at once when a finite one comes back.
  if (!missing || engine.options.eviction_grace >= kForEver) {
    if (since.empty()) return controller::Outcome{};
    Json after = applied_work;
    erase_at(after, {"status", "evictionStartTime"});
    FLEETADM_CHECK(engine.patch_applied(applied_work, after, "status"));
    return controller::Outcome{};
  }
  const std::optional<Instant> start = parse_time(since);
  if (!start) {
    Json after = applied_work;
    at_or_make(after, {"status", "evictionStartTime"}) = format_time(engine.now());
    FLEETADM_CHECK(engine.patch_applied(applied_work, after, "status"));
    log::info(1, "work", "no work stands for " + name_of(applied_work) + " any more: its objects go after the grace period");
    return controller::Outcome{engine.options.eviction_grace};
  }
  const Instant due = *start + engine.options.eviction_grace;
  if (engine.now() < due) return controller::Outcome{due - engine.now()};
  kube::DeleteOptions options;
  options.uid = uid_of(applied_work);
  Result<Json> removed = engine.spoke.remove(api::applied_manifest_works(), {}, name_of(applied_work), options);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  return controller::Outcome{};
}

/// The AppliedManifestWork that stands for a work, by the cache. That there is none is asked of the server: a stale cache that
/// lacks the inventory would end the work while its objects stay.
Result<std::optional<Json>> applied_work_of(const Engine& engine, const std::string& work) {
  const std::string name = applied_name(engine.hash, work);
  if (const kube::CachedPtr cached = engine.applied->get(name)) return std::optional(cached->decode());
  return engine.spoke.find(api::applied_manifest_works(), {}, name);
}

}  // namespace

Status end_applied_work(const Engine& engine, const Json& applied_work) {
  kube::DeleteOptions options;
  options.uid = uid_of(applied_work);
  Result<Json> removed = engine.spoke.remove(api::applied_manifest_works(), {}, name_of(applied_work), options);
  const bool failed =
      !removed && removed.error().category != Category::kNotFound && removed.error().category != Category::kConflict;
  if (failed) return tl::unexpected(std::move(removed).error());
  return {};
}

Result<controller::Outcome> finish_work(Engine& engine, const Json& work) {
  if (!has_finalizer(work, kWorkFinalizer)) return controller::Outcome{};
  const std::string name = name_of(work);
  const std::shared_ptr<WorkMemory> memory = engine.memory_of(name);
  const auto patch = [&](const Json& after, std::string_view subresource) -> Status {
    Result<Json> patched = engine.patch_work(*memory, work, after, subresource);
    const bool gone = !patched && patched.error().category == Category::kNotFound;
    if (!patched && !gone) return tl::unexpected(std::move(patched).error());
    return {};
  };
  FLEETADM_TRY(const std::optional<Json> applied_work, applied_work_of(engine, name));
  if (!applied_work) {
    FLEETADM_CHECK(patch(without_finalizer(work, kWorkFinalizer), {}));
    return controller::Outcome{};
  }
  if (!is_deleting(*applied_work)) {
    FLEETADM_CHECK(release_orphans(engine, work, {name_of(*applied_work), uid_of(*applied_work)}));
    FLEETADM_CHECK(end_applied_work(engine, *applied_work));
    return controller::Outcome{kHandshakeLook};
  }
  // It takes a while: say so. Most works are gone before the first such look.
  Json reported = work;
  set_deleting(at_or_make(reported, {"status"}), num(work, {"metadata", "generation"}), engine.now());
  FLEETADM_CHECK(patch(reported, "status"));
  return controller::Outcome{kHandshakeLook};
}

Result<controller::Outcome> reconcile_applied(Engine& engine, const std::string& name, std::stop_token) {
  const kube::CachedPtr cached = engine.applied->get(name);
  if (!cached) {
    // A work that stands for it makes it again, or ends. (Where both are gone, neither reconcile has anything to tell the other.)
    if (!name.starts_with(engine.hash + "-")) return controller::Outcome{};
    const std::string work = name.substr(engine.hash.size() + 1);
    if (engine.works->get(work)) engine.work_queue->add(work);
    return controller::Outcome{};
  }
  const Json applied_work = cached->decode();
  // Of another agent on this cluster: not ours to touch.
  if (str(applied_work, {"spec", "agentID"}) != engine.agent_id) return controller::Outcome{};
  Result<controller::Outcome> result =
      is_deleting(applied_work) ? finalize_applied(engine, applied_work) : evict(engine, applied_work);
  if (!result && result.error().category == Category::kConflict) return controller::Outcome{kRemovalLook};
  if (!result && result.error().category == Category::kNotFound) return controller::Outcome{};
  return result;
}

}  // namespace fleetadm::work
