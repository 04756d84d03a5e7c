#include "core/sandbox/engine/engine.h"

#include <algorithm>
#include <set>

#include "core/apimachinery/decode.h"
#include "core/apimachinery/defaults.h"
#include "core/apimachinery/managed_fields.h"
#include "core/sandbox/convert/converter.h"
#include "core/sandbox/engine/custom.h"
#include "core/sandbox/validation/object_checks.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr int kMaxRaces = 32;
constexpr int kMaxNames = 8;
constexpr std::size_t kGeneratedBase = 58;

void drop(Json& object, std::initializer_list<const char*> fields) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return;
  for (const char* field : fields) metadata->erase(field);
}

void copy(const Json& from, Json& to, std::initializer_list<const char*> fields) {
  for (const char* field : fields) {
    if (const Json* value = find(from, {"metadata", field})) {
      at_or_make(to, {"metadata", field}) = *value;
    } else {
      erase_at(to, {"metadata", field});
    }
  }
}

bool counts_generation(const Kind& kind) { return kind.generation || kind.custom != nullptr; }

void add_object_problems(const Kind& kind, const Json& object, std::vector<Cause>& problems) {
  for (auto& cause : object_problems(kind, object)) problems.push_back(std::move(cause));
}

/// A rule's answer; where it complains of fields as the metadata's check did before it, one answer tells of all.
ApiStatus collect_problems(ApiStatus answer, std::vector<Cause>& problems) {
  if (answer || problems.empty() || answer.error().code != 422) return answer;
  for (const Json& cause : list_at(answer.error().details, {"causes"}))
    problems.push_back({str(cause, {"reason"}), str(cause, {"message"}), str(cause, {"field"})});
  return {};
}

bool may_go(const Kind& kind, const Json& object) {
  if (!is_deleting(object)) return false;
  if (!list_at(object, {"metadata", "finalizers"}).empty()) return false;
  if (kind.storage == "/namespaces" && !list_at(object, {"spec", "finalizers"}).empty()) return false;
  return num(object, {"metadata", "deletionGracePeriodSeconds"}) == 0;
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
Json through_subresource(const Kind& kind, Json object, const Json& old, const std::string& subresource) {
  Json out = old;
  if (subresource == "status") {
    if (const Json* status = find(object, {"status"})) {
      out["status"] = *status;
    } else {
      out.erase("status");
    }
    if (kind.custom == nullptr) {
      for (const char* field : {"labels", "annotations", "finalizers", "ownerReferences"}) {
        if (kind.storage == "/namespaces" || std::string_view(field) == "labels" || std::string_view(field) == "annotations")
          copy(object, out, {field});
      }
    }
    copy(object, out, {"managedFields"});
    return out;
  }
  if (subresource == "approval") {
    at_or_make(out, {"status", "conditions"}) = list_at(object, {"status", "conditions"});
    copy(object, out, {"labels", "annotations", "managedFields"});
    return out;
  }
  if (subresource == "ephemeralcontainers") {
    at_or_make(out, {"spec", "ephemeralContainers"}) = list_at(object, {"spec", "ephemeralContainers"});
    if (list_at(out, {"spec", "ephemeralContainers"}).empty()) erase_at(out, {"spec", "ephemeralContainers"});
    copy(object, out, {"managedFields"});
    return out;
  }
  if (subresource == "finalize") {
    at_or_make(out, {"spec", "finalizers"}) = list_at(object, {"spec", "finalizers"});
    copy(object, out, {"managedFields"});
    return out;
  }
  return object;
}

/// Written anew even where nothing of it changes: its definition has another storage version by now.
bool is_outdated(const Kind& kind, const Stored& stored) {
  if (const auto* converter = converter_of(kind)) return converter->version_of(stored) != converter->storage_version();
  return kind.custom != nullptr && !stored.version.empty() && stored.version != kind.custom->storage_version;
}

/// The very text of the store, with what it leaves out.
Json as_stored(const Kind& kind, const Stored& stored) {
  Json object = stored.json();
  object["apiVersion"] = kind.group + "/" + converter_of(kind)->version_of(stored);
  object["kind"] = kind.kind;
  return object;
}

ApiStatus check_immutable(const Kind& kind, const Json& object, const Json& old) {
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

}  // namespace

Engine::Engine(Store& store, KindTable& kinds, std::shared_ptr<Clock> clock)
    : store_(store), kinds_(kinds), clock_(std::move(clock)) {}

const Rules* Engine::rules(const Kind& kind) const {
  const auto at = rules_.find(kind.storage);
  return at == rules_.end() ? nullptr : &at->second;
}

bool Engine::converts(const Kind& kind, const Stored& stored) {
  const auto* converter = converter_of(kind);
  return converter != nullptr && converter->version_of(stored) != kind.version;
}

Json Engine::full(const Kind& kind, const Stored& stored) const {
  if (converts(kind, stored)) return converter_of(kind)->decode(stored);
  Json object = stored.json();
  if (kind.on_read) object = kind.on_read(std::move(object));
  object["apiVersion"] = kind.api_version();
  object["kind"] = kind.kind;
  return object;
}

std::string Engine::text(const Kind& kind, const Stored& stored) const {
  if (kind.on_read || converts(kind, stored)) return dump_json(full(kind, stored));
  return "{\"apiVersion\":\"" + kind.api_version() + "\",\"kind\":\"" + kind.kind + "\"," + stored.body.substr(1);
}

ApiResult<Json> Engine::read(const Kind& kind, const Stored& stored) const {
  if (!converts(kind, stored)) return full(kind, stored);
  return converter_of(kind)->convert(full(kind, stored), kind.version);
}

ApiResult<Json> Engine::read(const Kind& kind, const std::string& ns, const std::string& name) const {
  const auto stored = store_.get(kind.storage, ns, name);
  if (!stored) return not_found(kind, name);
  return read(kind, *stored);
}

ApiResult<std::vector<Json>> Engine::read(const Kind& kind, const std::vector<const Stored*>& stored) const {
  std::vector<Json> objects;
  objects.reserve(stored.size());
  for (const Stored* one : stored) objects.push_back(full(kind, *one));
  const auto* converter = converter_of(kind);
  if (converter == nullptr) return objects;
  return converter->convert(std::move(objects), kind.version);
}

/// A controller of the sandbox works on an object in the version that it is stored in, and so depends on no webhook.
KindPtr Engine::row_for(const Kind& asked, const Stored& stored, const WriteOptions& options) const {
  if (!options.internal || !converts(asked, stored)) return nullptr;
  return kinds_.find(asked.group, converter_of(asked)->version_of(stored), asked.plural);
}

ApiResult<Json> Engine::get(const Kind& kind, const std::string& ns, const std::string& name) const {
  const auto stored = store_.get(kind.storage, ns, name);
  if (!stored) return not_found(kind, name);
  return full(kind, *stored);
}

std::vector<Json> Engine::list(const Kind& kind, const std::string& ns) const {
  std::vector<Json> out;
  if (const auto snapshot = store_.list(kind.storage, ns)) {
    for (const auto& item : snapshot->items) out.push_back(full(kind, *item.object));
  }
  return out;
}

ApiStatus Engine::check_namespace(const Kind& kind, const std::string& ns, const std::string& name) const {
  if (!kind.namespaced) return {};
  const auto stored = store_.get("/namespaces", "", ns);
  if (!stored) {
    const auto namespaces = kinds_.find("", "v1", "namespaces");
    return not_found(*namespaces, ns);
  }
  if (is_deleting(stored->json())) {
    auto error = forbidden(kind, name, "unable to create new content in namespace " + ns + " because it is being terminated");
    error.value().details["causes"] = Json::array({{{"reason", "NamespaceTerminating"},
                                                    {"message", "namespace " + ns + " is being terminated"},
                                                    {"field", "metadata.namespace"}}});
    return error;
  }
  return {};
}

ApiResult<Json> Engine::put(const Kind& kind, const std::string& ns, const std::string& name, std::int64_t expected, Json object,
                            bool remove, bool dry_run, bool& raced) {
  raced = false;
  if (const auto* converter = converter_of(kind)) {
    FLEETADM_TRY(Json stored, converter->convert(object, converter->storage_version()));
    return put_converted(kind, ns, name, expected, std::move(object), std::move(stored), remove, dry_run, raced);
  }
  if (dry_run) return object;
  Json stored = object;
  if (kind.on_write) stored = kind.on_write(std::move(stored));
  Write write{kind.storage, ns, name, expected, std::move(stored), remove};
  if (kind.custom != nullptr) write.version = kind.custom->storage_version;
  FLEETADM_CHECK(commit(kind, std::move(write), object, raced));
  return object;
}

/// `stored` is `object` in the version that is written. The answer is what a reader of this row sees from now on.
ApiResult<Json> Engine::put_converted(const Kind& kind, const std::string& ns, const std::string& name, std::int64_t expected,
                                      Json object, Json stored, bool remove, bool dry_run, bool& raced) {
  raced = false;
  const auto api_version = str(stored, {"apiVersion"});
  const auto version = api_version.substr(api_version.rfind('/') + 1);
  const bool shows_itself = remove || version == kind.version;
  if (dry_run) {
    if (shows_itself) return object;
    return converter_of(kind)->convert(std::move(stored), kind.version);
  }
  FLEETADM_TRY(const auto done,
               commit(kind, {kind.storage, ns, name, expected, std::move(stored), remove, version}, object, raced));
  if (shows_itself) return object;
  return read(kind, *done);
}

/// Writes, and tells of the object as its writer knows it.
ApiResult<StoredPtr> Engine::commit(const Kind& kind, Write write, Json& object, bool& raced) {
  const auto ns = write.ns;
  const auto name = write.name;
  const bool remove = write.remove;
  auto done = store_.write(std::move(write));
  if (!done) {
    raced = done.error().category == Category::kConflict;
    return api_fail(500, "InternalError", "Internal error occurred: " + done.error().message);
  }
  at_or_make(object, {"metadata", "resourceVersion"}) = std::to_string((*done)->revision);
  if (observer_) observer_(kind, ns, name, remove ? nullptr : &object);
  return std::move(*done);
}

ApiResult<Written> Engine::create(const Kind& kind, const std::string& ns, Json object, const WriteOptions& options) {
  const auto prefix = str(object, {"metadata", "generateName"});
  if (!name_of(object).empty() || prefix.empty()) return create_named(kind, ns, std::move(object), options);
  for (int i = 0; i < kMaxNames; ++i) {
    Json named = object;
    at_or_make(named, {"metadata", "name"}) = prefix.substr(0, kGeneratedBase) + random_suffix(5);
    auto made = create_named(kind, ns, std::move(named), options, true);
    if (made || made.error().reason != "AlreadyExists") return made;
    if (i + 1 == kMaxNames) {
      made.error().retry_after = 1;
      return made;
    }
  }
  return bad_request("no name");
}

ApiResult<Written> Engine::create_named(const Kind& kind, const std::string& ns, Json object, const WriteOptions& options,
                                        bool generated) {
  const auto name = name_of(object);
  if (const auto version = resource_version_of(object); !version.empty() && version != "0") {
    return api_fail(500, "", "resourceVersion should not be set on objects to be created");
  }
  drop(object, {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"});
  if (kind.namespaced) {
    at_or_make(object, {"metadata", "namespace"}) = ns;
  } else {
    drop(object, {"namespace"});
  }
  FLEETADM_CHECK(check_namespace(kind, ns, name));
  const auto now = clock_->now();
  at_or_make(object, {"metadata", "creationTimestamp"}) = format_time(now);
  at_or_make(object, {"metadata", "uid"}) = random_uuid();
  auto warnings = merge_owners(object);
  if (kind.custom != nullptr) {
    for (auto& warning : finalizer_warnings(object, nullptr)) warnings.push_back(std::move(warning));
  }
  if (kind.subresource("status") != nullptr && kind.storage != "/namespaces") {
    object.erase("status");
    // Of built-in kinds the wire always shows one.
    Json empty = kind.custom == nullptr ? apimachinery::empty_builtin(kind.api_version(), kind.kind) : Json();
    if (const Json* status = find(empty, {"status"})) object["status"] = *status;
  }
  if (counts_generation(kind)) at_or_make(object, {"metadata", "generation"}) = 1;
  const Rules* own = rules(kind);
  const RuleContext context{*this, kind, options, now};
  if (kind.custom == nullptr) apimachinery::apply_defaults(object);
  if (own != nullptr && own->defaults) own->defaults(object);
  if (kind.custom != nullptr) FLEETADM_CHECK(check_custom_create(kind, object));
  auto problems = metadata_problems(kind, object);
  if (!options.internal) add_object_problems(kind, object, problems);
  if (own != nullptr && own->create) FLEETADM_CHECK(collect_problems(own->create(context, object), problems));
  if (!problems.empty()) return invalid(kind, name, problems);
  if (tracker_ && options.tracks_fields) tracker_(kind, nullptr, object, options, now);
  FLEETADM_CHECK(admit({kind, "CREATE", ns, name, generated, &object, nullptr, options}, warnings));
  if (const auto existing = store_.get(kind.storage, ns, name)) return already_exists(kind, name, is_deleting(existing->json()));
  bool raced = false;
  auto stored = put(kind, ns, name, 0, std::move(object), false, options.dry_run, raced);
  if (raced) return already_exists(kind, name);
  if (!stored) return tl::unexpected(std::move(stored).error());
  return Written{std::move(*stored), true, false, std::move(warnings)};
}

ApiResult<Json> Engine::prepare_update(const Kind& kind, Json object, const Json& old, const WriteOptions& options,
                                       std::vector<std::string>& warnings) {
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
  object = through_subresource(kind, std::move(object), old, options.subresource);
  FLEETADM_CHECK(check_deletion_marks(kind, object, old));
  copy(old, object,
       {"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion",
        "selfLink"});
  if (kind.namespaced) copy(old, object, {"namespace"});
  for (auto& warning : merge_owners(object)) warnings.push_back(std::move(warning));
  if (kind.custom != nullptr) {
    for (auto& warning : finalizer_warnings(object, &old)) warnings.push_back(std::move(warning));
  }
  if (options.subresource.empty() && kind.subresource("status") != nullptr) {
    if (const Json* status = find(old, {"status"})) {
      object["status"] = *status;
    } else {
      object.erase("status");
    }
  }
  const Rules* own = rules(kind);
  const RuleContext context{*this, kind, options, clock_->now()};
  if (kind.custom == nullptr) apimachinery::apply_defaults(object);
  if (own != nullptr && own->defaults) own->defaults(object);
  if (kind.custom != nullptr) FLEETADM_CHECK(check_custom_update(kind, object, old, options.subresource));
  FLEETADM_CHECK(check_immutable(kind, object, old));
  auto problems = metadata_problems(kind, object);
  if (!options.internal && options.subresource.empty()) add_object_problems(kind, object, problems);
  if (own != nullptr && own->update) FLEETADM_CHECK(collect_problems(own->update(context, object, old), problems));
  if (!problems.empty()) return invalid(kind, name, problems);
  const bool specifies = options.subresource.empty() || options.subresource == "ephemeralcontainers";
  if (counts_generation(kind) && specifies && options.admitted_as != "binding") {
    const bool has_status = kind.subresource("status") != nullptr;
    const bool same = has_status ? same_but(object, old, {"metadata", "status", "apiVersion", "kind"})
                                 : same_but(object, old, {"metadata", "apiVersion", "kind"});
    // Of Deployments annotations count, too, but for those of their controller.
    const bool annotated = kind.storage == "apps/deployments" && !options.internal &&
                           object_at(object, {"metadata", "annotations"}) != object_at(old, {"metadata", "annotations"});
    if (!same || annotated) at_or_make(object, {"metadata", "generation"}) = num(old, {"metadata", "generation"}) + 1;
  }
  if (tracker_ && options.tracks_fields) tracker_(kind, &old, object, options, context.now);
  FLEETADM_CHECK(admit({kind, "UPDATE", namespace_of(old), name, false, &object, &old, options}, warnings));
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
    FLEETADM_TRY(const Json old, read(kind, *stored));
    FLEETADM_TRY(Json object, change(&old));
    std::vector<std::string> warnings;
    FLEETADM_TRY(object, prepare_update(kind, std::move(object), old, options, warnings));
    if (may_go(kind, object)) {
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
      return Written{old, false, false, std::move(warnings)};  // nothing to write: no event, the same version
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

ApiResult<Written> Engine::remove(const Kind& asked, const std::string& ns, const std::string& name, const DeleteOptions& options,
                                  const WriteOptions& by) {
  for (int i = 0; i < kMaxRaces; ++i) {
    const auto stored = store_.get(asked.storage, ns, name);
    if (!stored) return not_found(asked, name);
    const KindPtr other = row_for(asked, *stored, by);
    const Kind& kind = other ? *other : asked;
    FLEETADM_TRY(const Json old, read(kind, *stored));
    if (!options.uid.empty() && options.uid != uid_of(old)) {
      Kind named = kind;
      named.plural = kind.kind;
      return modified_meanwhile(named, name,
                                "the UID in the precondition (" + options.uid + ") does not match the UID in record (" +
                                    uid_of(old) + "). The object might have been deleted and then recreated");
    }
    if (!options.resource_version.empty() && options.resource_version != resource_version_of(old)) {
      Kind named = kind;
      named.plural = kind.kind;
      return modified_meanwhile(named, name,
                                "the ResourceVersion in the precondition (" + options.resource_version +
                                    ") does not match the ResourceVersion in record (" + resource_version_of(old) +
                                    "). The object might have been modified");
    }
    const auto now = clock_->now();
    const Rules* own = rules(kind);
    if (own != nullptr && own->remove) FLEETADM_CHECK(own->remove(RuleContext{*this, kind, by, now}, old));
    std::vector<std::string> warnings;
    FLEETADM_CHECK(admit({kind, "DELETE", ns, name, false, nullptr, &old, by}, warnings));
    Json object = old;
    auto finalizers = string_list_at(old, {"metadata", "finalizers"});
    const auto without = [&](const char* finalizer) {
      finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), finalizer), finalizers.end());
    };
    if (kind.storage == "apiextensions.k8s.io/customresourcedefinitions" && !is_deleting(old)) {
      without(kDefinitionCleanup);
      finalizers.emplace_back(kDefinitionCleanup);
      at_or_make(object, {"metadata", "finalizers"}) = finalizers;
    }
    auto policy = options.propagation;
    if (policy.empty() && kind.orphans_by_default && !is_deleting(old)) policy = "Orphan";
    if (!policy.empty()) {
      without("orphan");
      without("foregroundDeletion");
      if (policy == "Orphan") finalizers.emplace_back("orphan");
      if (policy == "Foreground") finalizers.emplace_back("foregroundDeletion");
      if (finalizers.empty()) {
        erase_at(object, {"metadata", "finalizers"});
      } else {
        at_or_make(object, {"metadata", "finalizers"}) = finalizers;
      }
    }
    std::int64_t grace = 0;
    if (kind.storage == "/pods") {
      grace = options.grace_seconds.value_or(num(old, {"spec", "terminationGracePeriodSeconds"}, 30));
      if (grace < 0) grace = 1;
      const auto phase = str(old, {"status", "phase"});
      if (str(old, {"spec", "nodeName"}).empty() || phase == "Failed" || phase == "Succeeded") grace = 0;
      if (is_deleting(old)) grace = std::min(grace, num(old, {"metadata", "deletionGracePeriodSeconds"}));
    }
    const bool held =
        !finalizers.empty() || grace > 0 || (kind.storage == "/namespaces" && !list_at(object, {"spec", "finalizers"}).empty());
    bool raced = false;
    if (!held) {
      // What goes need not be converted to be seen once more.
      auto gone = converter_of(kind) != nullptr
                      ? put_converted(kind, ns, name, stored->revision, std::move(object), as_stored(kind, *stored), true,
                                      options.dry_run, raced)
                      : put(kind, ns, name, stored->revision, std::move(object), true, options.dry_run, raced);
      if (raced) continue;
      if (!gone) return tl::unexpected(std::move(gone).error());
      return Written{std::move(*gone), false, true, std::move(warnings)};
    }
    if (!is_deleting(old) || grace < num(old, {"metadata", "deletionGracePeriodSeconds"})) {
      at_or_make(object, {"metadata", "deletionTimestamp"}) = format_time(now + std::chrono::seconds(grace));
      at_or_make(object, {"metadata", "deletionGracePeriodSeconds"}) = grace;
      if (const auto generation = num(object, {"metadata", "generation"}); generation > 0 && !is_deleting(old)) {
        at_or_make(object, {"metadata", "generation"}) = generation + 1;
      }
      if (kind.storage == "/namespaces") {
        // Unlike other objects a namespace has no grace period.
        erase_at(object, {"metadata", "deletionGracePeriodSeconds"});
        at_or_make(object, {"status", "phase"}) = "Terminating";
      }
    }
    if (object == old) return Written{std::move(object), false, false, std::move(warnings)};
    auto written = put(kind, ns, name, stored->revision, std::move(object), false, options.dry_run, raced);
    if (raced) continue;
    if (!written) return tl::unexpected(std::move(written).error());
    return Written{std::move(*written), false, false, std::move(warnings)};
  }
  return modified_meanwhile(asked, name);
}

}  // namespace fleetadm::sandbox
