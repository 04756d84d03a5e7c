#include "core/sandbox/engine/engine.h"

#include "core/sandbox/convert/converter.h"
#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox {
Engine::Engine(Store& store, KindTable& kinds, std::shared_ptr<Clock> clock)
    : store_(store), kinds_(kinds), clock_(std::move(clock)) {}

const Strategy& Engine::strategy(const Kind& kind) const {
  static const Strategy kLikeTheOthers;
  const auto at = strategies_.find(kind.storage);
  return at == strategies_.end() ? kLikeTheOthers : at->second;
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
  // Nearly every one stays: its text is enough to see that.
  if (stored->body.find("\"deletionTimestamp\"") != std::string::npos && is_deleting(stored->json())) {
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
  Write write{kind.storage, ns, name, expected, kind.on_write ? kind.on_write(object) : std::move(object), remove};
  if (kind.custom != nullptr) write.version = kind.custom->storage_version;
  FLEETADM_CHECK(commit(kind, write, kind.on_write ? &object : nullptr, raced));
  return std::move(kind.on_write ? object : write.object);
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
  Write write{kind.storage, ns, name, expected, std::move(stored), remove, version};
  FLEETADM_TRY(const auto done, commit(kind, write, &object, raced));
  if (shows_itself) return object;
  return read(kind, *done);
}

/// Writes, and tells of the object as its writer knows it. Null: that is the one that is written.
ApiResult<StoredPtr> Engine::commit(const Kind& kind, Write& write, Json* object, bool& raced) {
  auto done = store_.write(write);
  if (!done) {
    raced = done.error().category == Category::kConflict;
    return api_fail(500, "InternalError", "Internal error occurred: " + done.error().message);
  }
  if (object != nullptr) {
    at_or_make(*object, {"metadata", "resourceVersion"}) = std::to_string((*done)->revision);
  } else {
    object = &write.object;
    (*object)["apiVersion"] = kind.api_version();
    (*object)["kind"] = kind.kind;
  }
  if (observer_) observer_(kind, write.ns, write.name, write.remove ? nullptr : object);
  return std::move(*done);
}

}  // namespace fleetadm::sandbox
