#include <optional>
#include <set>

#include "core/apimachinery/managed_fields.h"
#include "core/sandbox/convert/converter.h"
#include "core/sandbox/engine/custom.h"
#include "core/sandbox/engine/write_steps.h"

namespace fleetadm::sandbox {
namespace {

/// Nothing keeps an object that is being deleted any more.
bool may_go(const Strategy& own, const Json& object) {
  if (!is_deleting(object)) return false;
  if (!list_at(object, {"metadata", "finalizers"}).empty()) return false;
  if (own.is_held && own.is_held(object)) return false;
  return num(object, {"metadata", "deletionGracePeriodSeconds"}) == 0;
}

/// Whether the object is the one that is stored, in the state that its writer knows.
ApiStatus check_identity(const Kind& kind, const Json& object, const Json& old) {
  const auto name = name_of(old);
  if (name_of(object) != name) return other_name(name_of(object), name);
  if (const auto uid = uid_of(object); !uid.empty() && uid != uid_of(old)) {
    return modified_meanwhile(kind, name,
                              "StorageError: invalid object, Code: 4, Key: " + kind.storage + "/" + name +
                                  ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: " + uid +
                                  ", UID in object meta: " + uid_of(old));
  }
  const auto version = resource_version_of(object);
  if (version.empty() || version == "0") {
    if (!kind.unconditional_update) {
      Kind plural = kind;
      plural.kind = kind.plural;
      return invalid(plural, name, {bad_value("metadata.resourceVersion", Json(0), "must be specified for an update")});
    }
  } else if (version != resource_version_of(old)) {
    return modified_meanwhile(kind, name);
  }
  return {};
}

/// Only a DELETE says that an object goes. Of one that goes already the marks are put back silently.
ApiStatus check_deletion_marks(const Kind& kind, const Json& object, const Json& old) {
  if (is_deleting(old)) return {};
  std::vector<Cause> causes;
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const Json* given = find(object, {"metadata", field});
    if (given != nullptr && !given->is_null())
      causes.push_back(bad_value(std::string("metadata.") + field, *given, "field is immutable"));
  }
  if (causes.empty()) return {};
  return invalid(kind, name_of(old), causes);
}

/// What a write to a subresource may change; everything else comes from the stored object.
Json through_subresource(const Kind& kind, const Strategy& own, Json object, const Json& old, const std::string& subresource) {
  Json out = old;
  if (subresource == "status") {
    if (const Json* status = find(object, {"status"})) {
      out["status"] = *status;
    } else {
      out.erase("status");
    }
    if (kind.custom == nullptr) {
      copy_metadata(object, out, {"labels", "annotations"});
      if (own.status_writes_owners) copy_metadata(object, out, {"finalizers", "ownerReferences"});
    }
    copy_metadata(object, out, {"managedFields"});
    return out;
  }
  if (subresource == "approval") {
    at_or_make(out, {"status", "conditions"}) = list_at(object, {"status", "conditions"});
    copy_metadata(object, out, {"labels", "annotations", "managedFields"});
    return out;
  }
  if (subresource == "ephemeralcontainers") {
    at_or_make(out, {"spec", "ephemeralContainers"}) = list_at(object, {"spec", "ephemeralContainers"});
    if (list_at(out, {"spec", "ephemeralContainers"}).empty()) erase_at(out, {"spec", "ephemeralContainers"});
    copy_metadata(object, out, {"managedFields"});
    return out;
  }
  if (subresource == "finalize") {
    at_or_make(out, {"spec", "finalizers"}) = list_at(object, {"spec", "finalizers"});
    copy_metadata(object, out, {"managedFields"});
    return out;
  }
  return object;
}

void keep_status(Json& object, const Json& old) {
  if (const Json* status = find(old, {"status"})) {
    object["status"] = *status;
  } else {
    object.erase("status");
  }
}

/// What is being deleted gets no new ones.
ApiStatus check_finalizers(const Kind& kind, const Json& object, const Json& old) {
  if (!is_deleting(old)) return {};
  std::set<std::string> added;
  for (auto& name : string_list_at(object, {"metadata", "finalizers"})) added.insert(std::move(name));
  for (const auto& name : string_list_at(old, {"metadata", "finalizers"})) added.erase(name);
  std::string names;
  for (const auto& name : added) names += (names.empty() ? "\"" : ", \"") + name + "\"";
  std::vector<Cause> causes;
  if (!added.empty()) {
    causes.push_back(forbidden_field(
        "metadata.finalizers",
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{" + names + "}"));
  }
  if (!causes.empty()) return invalid(kind, name_of(object), causes);
  return {};
}

/// metadata.generation, which counts the changes of what is wished.
void count_generation(const StrategyContext& context, const Strategy& own, Json& object, const Json& old) {
  const bool specifies = context.options.subresource.empty() || context.options.subresource == "ephemeralcontainers";
  if (counts_generation(context.kind) && specifies && context.options.admitted_as != "binding") {
    const bool has_status = context.kind.subresource("status") != nullptr;
    const bool same = has_status ? same_but(object, old, {"metadata", "status", "apiVersion", "kind"})
                                 : same_but(object, old, {"metadata", "apiVersion", "kind"});
    if (!same || (own.counts_generation && own.counts_generation(context, object, old)))
      at_or_make(object, {"metadata", "generation"}) = num(old, {"metadata", "generation"}) + 1;
  }
}

/// Written anew even where nothing of it changes: its definition has another storage version by now.
bool is_outdated(const Kind& kind, const Stored& stored) {
  if (const auto* converter = converter_of(kind)) return converter->version_of(stored) != converter->storage_version();
  return kind.custom != nullptr && !stored.version.empty() && stored.version != kind.custom->storage_version;
}

}  // namespace

ApiResult<Json> Engine::prepare_update(const Kind& kind, Json object, const Json& old, const WriteOptions& options,
                                       std::vector<std::string>& warnings) {
  FLEETADM_CHECK(check_identity(kind, object, old));
  const Strategy& own = strategy(kind);
  object = through_subresource(kind, own, std::move(object), old, options.subresource);
  FLEETADM_CHECK(check_deletion_marks(kind, object, old));
  copy_metadata(old, object,
                {"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion",
                 "selfLink"});
  if (kind.namespaced) copy_metadata(old, object, {"namespace"});
  for (auto& warning : merge_owners(object)) warnings.push_back(std::move(warning));
  if (kind.custom != nullptr) {
    for (auto& warning : finalizer_warnings(object, &old)) warnings.push_back(std::move(warning));
  }
  if (options.subresource.empty() && kind.subresource("status") != nullptr) keep_status(object, old);
  const StrategyContext context{*this, kind, options, clock_->now()};
  fill_defaults(kind, own, object);
  if (kind.custom != nullptr) FLEETADM_CHECK(check_custom_update(kind, object, old, options.subresource));
  FLEETADM_CHECK(check_finalizers(kind, object, old));
  auto problems = metadata_problems(kind, object);
  if (!options.internal && options.subresource.empty()) add_object_problems(kind, object, problems);
  if (own.update) FLEETADM_CHECK(collect_problems(own.update(context, object, old), problems));
  if (!problems.empty()) return invalid(kind, name_of(old), problems);
  count_generation(context, own, object, old);
  if (tracker_ && options.tracks_fields) tracker_(kind, &old, object, options, context.now);
  FLEETADM_CHECK(admit({kind, "UPDATE", namespace_of(old), name_of(old), false, &object, &old, options}, warnings));
  return object;
}

ApiResult<Written> Engine::modify(const Kind& asked, const std::string& ns, const std::string& name, const WriteOptions& options,
                                  bool may_create, const Change& change) {
  for (int i = 0; i < kMaxRaces; ++i) {
    const auto stored = store_.get(asked.storage, ns, name);
    if (!stored) {
      if (!may_create) return not_found(asked, name);
      FLEETADM_TRY(Json made, change(nullptr));
      return create(asked, ns, std::move(made), options);
    }
    const KindPtr other = row_for(asked, *stored, options);
    const Kind& kind = other ? *other : asked;
    FLEETADM_TRY(Json old, read(kind, *stored));
    FLEETADM_TRY(Json object, change(&old));
    // Controllers mostly find that all is as it should be: checks and admission are left out, as nothing is asked for.
    if (options.internal && object == old && !is_deleting(old) && !is_outdated(kind, *stored))
      return Written{std::move(old), false, false, {}};
    std::vector<std::string> warnings;
    FLEETADM_TRY(object, prepare_update(kind, std::move(object), old, options, warnings));
    if (may_go(strategy(kind), object)) {
      bool raced = false;
      auto gone = put(kind, ns, name, stored->revision, std::move(object), true, options.dry_run, raced);
      if (raced) continue;
      if (!gone) return tl::unexpected(std::move(gone).error());
      return Written{std::move(*gone), false, true, std::move(warnings)};
    }
    const auto* converter = converter_of(kind);
    std::optional<Json> next;  // in the storage version, where that is another one: what counts is what would be stored
    if (converter != nullptr && converter->storage_version() != kind.version) {
      FLEETADM_TRY(next, converter->convert(object, converter->storage_version()));
    }
    if (!is_outdated(kind, *stored) &&
        (next ? apimachinery::same_but_times(*next, as_stored(kind, *stored)) : apimachinery::same_but_times(object, old)))
      return Written{std::move(old), false, false, std::move(warnings)};  // nothing to write: no event, the same version
    bool raced = false;
    auto written =
        next ? put_converted(kind, ns, name, stored->revision, std::move(object), std::move(*next), false, options.dry_run, raced)
             : put(kind, ns, name, stored->revision, std::move(object), false, options.dry_run, raced);
    if (raced) continue;
    if (!written) return tl::unexpected(std::move(written).error());
    return Written{std::move(*written), false, false, std::move(warnings)};
  }
  return modified_meanwhile(asked, name);
}

}  // namespace fleetadm::sandbox
