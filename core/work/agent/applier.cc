#include "core/work/agent/applier.h"

#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "core/work/rules/config_hash.h"
#include "core/work/rules/ignore_fields.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

constexpr auto kConflictWaits = std::to_array<std::chrono::milliseconds>(
    {std::chrono::milliseconds(10), std::chrono::milliseconds(50), std::chrono::milliseconds(250)});

kube::WriteOptions write_options() {
  kube::WriteOptions options;
  options.field_manager = kDefaultFieldManager;
  return options;
}

ApplyOutcome failed(ApplyOutcome outcome, Error error) {
  outcome.error = std::move(error);
  return outcome;
}

/// Someone was faster, or the watch has not told yet: the object is there, and to be read.
bool exists_already(const ApplyOutcome& outcome) { return outcome.error && outcome.error->reason == "AlreadyExists"; }

/// An object that was changed between its read and its write; a conflict of field managers is something else, and stays.
bool was_modified(const Error& error) {
  return error.category == Category::kConflict && error.message.find("object has been modified") != std::string::npos;
}

bool is_secret(const Manifest& manifest) { return manifest.group.empty() && manifest.kind == "Secret"; }

/// The intent of a server-side apply: what the manifest says, without what only the server writes.
Json intent_of(const Json& desired) {
  Json intent = desired;
  for (const char* key : {"creationTimestamp", "managedFields", "resourceVersion", "generation", "selfLink", "uid"}) {
    erase_at(intent, {"metadata", key});
  }
  erase_at(intent, {"spec", "template", "metadata", "creationTimestamp"});
  intent.erase("status");
  return intent;
}

}  // namespace

UpdatePlan plan_update(const Manifest& manifest, const Json& live, const std::optional<Fingerprint>& seen, bool applied_before,
                       const Owner& owner, bool owned) {
  UpdatePlan plan;
  const bool manifest_known = seen ? seen->manifest == manifest_hash(manifest.object) && seen->owned == owned : applied_before;
  if (manifest_known) {
    if (seen && seen->live == fingerprint(live)) return plan;
    plan.change = Change::kDrift;
    plan.object = object_to_repair(manifest.object, live, owner, owned);
  } else {
    plan.change = Change::kManifest;
    plan.object = object_to_update(manifest.object, live, merge_mode_of(manifest.group, manifest.kind), owner, owned);
  }
  if (same_object(plan.object, live)) plan.change = Change::kNone;
  return plan;
}

ApplyOutcome Applier::read(const Manifest& manifest) const {
  ApplyOutcome outcome;
  Result<std::optional<Json>> live = spoke_.find(*manifest.resource, manifest.ns, manifest.name);
  if (!live) {
    outcome.read_error = live.error();
  } else if (!*live) {
    outcome.missing = true;
  } else {
    outcome.live = std::move(**live);
  }
  return outcome;
}

ApplyOutcome Applier::apply(const ApplyRequest& request) const {
  switch (request.strategy.type) {
    case StrategyType::kUpdate: return update(request);
    case StrategyType::kCreateOnly: return create_only(request);
    case StrategyType::kServerSideApply: return server_side(request);
    case StrategyType::kReadOnly: break;
  }
  ApplyOutcome outcome = read(request.manifest);
  if (outcome.read_error) outcome.error = outcome.read_error;
  if (outcome.missing) outcome.error = fail(Category::kNotFound, request.manifest.describe() + " not found").value();
  return outcome;
}

ApplyOutcome Applier::create(const ApplyRequest& request) const {
  ApplyOutcome outcome;
  outcome.missing = true;
  outcome.change = request.seen || request.applied_before ? Change::kDrift : Change::kManifest;
  if (outcome.change == Change::kDrift && !request.may_repair) return outcome;
  const Manifest& manifest = request.manifest;
  Result<Json> created = spoke_.create(*manifest.resource, manifest.ns,
                                       object_to_create(manifest.object, request.owner, request.owned), write_options());
  if (!created) return failed(std::move(outcome), created.error());
  outcome.live = std::move(*created);
  outcome.missing = false;
  outcome.wrote = true;
  return outcome;
}

ApplyOutcome Applier::update(const ApplyRequest& request) const {
  if (request.absent) {
    if (ApplyOutcome outcome = create(request); !exists_already(outcome)) return outcome;
  }
  ApplyOutcome outcome = update_once(request);
  for (const auto wait : kConflictWaits) {
    if (!outcome.error || outcome.error->category != Category::kConflict) break;
    std::this_thread::sleep_for(wait);
    outcome = update_once(request);
  }
  return outcome;
}

ApplyOutcome Applier::update_once(const ApplyRequest& request) const {
  const Manifest& manifest = request.manifest;
  ApplyOutcome outcome = read(manifest);
  if (outcome.read_error) return failed(outcome, *outcome.read_error);
  if (outcome.missing) return create(request);
  const Json live = *outcome.live;
  const UpdatePlan plan = plan_update(manifest, live, request.seen, request.applied_before, request.owner, request.owned);
  outcome.change = plan.change;
  if (plan.change == Change::kNone || (plan.change == Change::kDrift && !request.may_repair)) return outcome;
  if (is_secret(manifest) && find(plan.object, {"type"}) != nullptr && str(plan.object, {"type"}) != str(live, {"type"})) {
    return replace_secret(request, live);
  }
  Result<Json> updated = spoke_.update(*manifest.resource, plan.object, write_options());
  if (!updated && updated.error().category == Category::kInvalid) {
    if (is_secret(manifest)) return replace_secret(request, live);
    // A field that the server filled in for good and the manifest does not name: keep it.
    const Json kept = object_to_repair(manifest.object, live, request.owner, request.owned);
    if (same_object(kept, live)) return outcome;
    if (!same_object(kept, plan.object)) updated = spoke_.update(*manifest.resource, kept, write_options());
  }
  if (!updated) return failed(std::move(outcome), updated.error());
  outcome.live = std::move(*updated);
  outcome.wrote = true;
  return outcome;
}

ApplyOutcome Applier::replace_secret(const ApplyRequest& request, const Json& live) const {
  kube::DeleteOptions options;
  options.uid = uid_of(live);
  Result<Json> removed = spoke_.remove(*request.manifest.resource, request.manifest.ns, request.manifest.name, options);
  if (!removed && removed.error().category != Category::kNotFound) {
    ApplyOutcome outcome;
    outcome.live = live;
    return failed(std::move(outcome), removed.error());
  }
  return create(request);
}

void Applier::fix_owner(const ApplyRequest& request, ApplyOutcome& outcome) const {
  const Manifest& manifest = request.manifest;
  // The references are replaced as a whole, so the patch is for one version; a fast controller writes right after a creation.
  for (std::size_t attempt = 0; outcome.live; ++attempt) {
    const Json patch = owner_patch(*outcome.live, request.owner, request.owned);
    if (patch.empty()) return;
    Result<Json> patched =
        spoke_.patch(*manifest.resource, manifest.ns, manifest.name, kube::PatchType::kMerge, patch, write_options());
    if (patched) {
      outcome.live = std::move(*patched);
      outcome.wrote = true;
      return;
    }
    outcome.error = patched.error();
    if (patched.error().category != Category::kConflict || attempt == kConflictWaits.size()) return;
    std::this_thread::sleep_for(kConflictWaits[attempt]);
    ApplyOutcome now = read(manifest);
    if (!now.live || uid_of(*now.live) != uid_of(*outcome.live)) return;
    outcome.live = std::move(now.live);
    outcome.error.reset();
  }
}

ApplyOutcome Applier::create_only(const ApplyRequest& request) const {
  if (request.absent) {
    if (ApplyOutcome outcome = create(request); !exists_already(outcome)) return outcome;
  }
  ApplyOutcome outcome = read(request.manifest);
  if (outcome.read_error) return failed(outcome, *outcome.read_error);
  if (outcome.missing) return create(request);
  fix_owner(request, outcome);
  return outcome;
}

ApplyOutcome Applier::server_side(const ApplyRequest& request) const {
  ApplyOutcome outcome = server_side_once(request);
  for (const auto wait : kConflictWaits) {
    if (!outcome.error || !was_modified(*outcome.error)) break;
    std::this_thread::sleep_for(wait);
    outcome = server_side_once(request);
  }
  return outcome;
}

ApplyOutcome Applier::server_side_once(const ApplyRequest& request) const {
  const Manifest& manifest = request.manifest;
  ApplyOutcome outcome = read(manifest);
  if (outcome.read_error) return failed(outcome, *outcome.read_error);
  Json intent = intent_of(manifest.object);
  bool known = request.seen ? request.seen->manifest == manifest_hash(manifest.object) : request.applied_before;
  if (const Json& ignored = request.strategy.ignore_fields; !ignored.empty()) {
    Json hashed = manifest.object;
    Status settled = drop_present_fields(ignored, hashed);
    const std::string hash = config_spec_hash(hashed);
    // What is kept on the object outlives this process, and is what another agent goes by.
    const std::string applied = outcome.live ? annotation_of(*outcome.live, kConfigSpecHash) : std::string();
    if (!applied.empty()) known = applied == hash;
    if (settled) settled = settle_ignored_fields(ignored, outcome.live, request.strategy.field_manager, !known, intent);
    if (!settled) {
      outcome.failure_reason = "AppliedManifestSSAIgnoreFieldError";
      return failed(std::move(outcome), settled.error());
    }
    // What the intent holds or leaves out is by what was live just now: it is for that version.
    if (outcome.live) at_or_make(intent, {"metadata", "resourceVersion"}) = resource_version_of(*outcome.live);
    if (!known || !applied.empty() || outcome.missing) at_or_make(intent, {"metadata", "annotations", kConfigSpecHash}) = hash;
  }
  bool needed = outcome.missing;
  if (outcome.live) {
    const bool untouched = request.seen && request.seen->live == fingerprint(*outcome.live);
    needed = !known || (!untouched && !covers(*outcome.live, intent));
    outcome.change = !needed ? Change::kNone : known ? Change::kDrift : Change::kManifest;
  } else {
    outcome.change = request.seen || request.applied_before ? Change::kDrift : Change::kManifest;
  }
  if (outcome.change == Change::kDrift && !request.may_repair) return outcome;
  if (needed) {
    kube::WriteOptions options;
    options.field_manager = request.strategy.field_manager;
    options.force = request.strategy.force;
    Result<Json> applied = spoke_.apply(*manifest.resource, intent, options);
    if (!applied) return failed(std::move(outcome), applied.error());
    outcome.live = std::move(*applied);
    outcome.missing = false;
    outcome.wrote = true;
  }
  fix_owner(request, outcome);
  return outcome;
}

}  // namespace fleetadm::work
