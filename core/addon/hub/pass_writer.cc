#include "core/addon/hub/pass_writer.h"

#include <utility>
#include <vector>

#include "core/addon/hub/stored_version.h"

namespace fleetadm::addon {
namespace {

constexpr Duration kRepeat = std::chrono::milliseconds(50);
constexpr Duration kPatience = std::chrono::seconds(5);  // with a cache; then the server's answer decides
constexpr std::size_t kMany = 4096;                      // writes remembered, unless they were made within kPatience
constexpr std::string_view kStatus = "status";

/// What a pass may change of an object, or its status.
Json part_of(const Json& object, std::string_view subresource) {
  Json part = Json::object();
  if (subresource == kStatus) {
    if (const Json* status = find(object, {kStatus})) part[std::string(kStatus)] = *status;
    return part;
  }
  for (const auto& [member, value] : object.items()) {
    if (member != kStatus && member != "metadata" && member != "apiVersion" && member != "kind") part[member] = value;
  }
  Json& metadata = part["metadata"] = Json::object();
  for (const char* member : {"labels", "annotations", "ownerReferences", "finalizers"}) {
    // Absent and empty mean the same to a server.
    if (const Json* value = find(object, {"metadata", member}); value != nullptr && !value->empty()) metadata[member] = *value;
  }
  return part;
}

Json difference(const Json& before, const Json& after, std::string_view subresource) {
  return kube::merge_diff(part_of(as_stored(before), subresource), part_of(as_stored(after), subresource));
}

}  // namespace

struct PassWriter::Identity {
  explicit Identity(const Json& object) : ns(namespace_of(object)), name(name_of(object)) {
    const GroupResource type = type_of(object);
    resource = stored_resource({type.group, kube::parse_api_version(str(object, {"apiVersion"})).version, type.resource,
                                str(object, {"kind"}), !ns.empty()});
    key = type.qualified() + "/" + kube::object_key(ns, name);
  }
  kube::Resource resource;
  std::string ns;
  std::string name;
  std::string key;
};

bool PassWriter::still_shows(const std::string& key, const std::string& version) {
  const auto known = written_.find(key);
  if (known == written_.end()) return false;
  if (known->second.over == version && clock_->now() - known->second.at < kPatience) return true;
  written_.erase(known);
  return false;
}

bool PassWriter::late(const ObjectReader& cache, const Pass& pass) {
  for (const Json& wanted : pass.changed) {
    const Identity identity(wanted);
    const ObjectPtr now = cache.get(type_of(wanted), identity.ns, identity.name);
    const std::lock_guard lock(mutex_);
    if (still_shows(identity.key, now ? resource_version_of(*now) : std::string())) return true;
  }
  return false;
}

void PassWriter::note_write(const Identity& identity, std::string over) {
  const Instant now = clock_->now();
  const std::lock_guard lock(mutex_);
  if (written_.size() >= kMany) std::erase_if(written_, [&](const auto& one) { return now - one.second.at >= kPatience; });
  written_[identity.key] = {std::move(over), now};
}

Status PassWriter::create(const Identity& identity, const Json& wanted) {
  Json body = as_stored(wanted);
  body.erase(std::string(kStatus));
  FLEETADM_TRY(const Json created, hub_.create(identity.resource, identity.ns, body));
  note_write(identity, {});
  if (find(wanted, {kStatus}) == nullptr) return {};
  FLEETADM_CHECK(patch(identity, created, wanted, kStatus));
  return {};
}

/// The object as it is afterwards.
Result<Json> PassWriter::patch(const Identity& identity, const Json& before, const Json& after, std::string_view subresource) {
  const std::string place = identity.key + " " + std::string(subresource);
  Json body = difference(before, after, subresource);
  const std::string text = dump_json(body);
  {
    const std::lock_guard lock(mutex_);
    const auto known = not_taken_.find(place);
    if (body.empty() || (known != not_taken_.end() && known->second == text)) return before;
  }
  at_or_make(body, {"metadata", "uid"}) = uid_of(before);
  at_or_make(body, {"metadata", "resourceVersion"}) = resource_version_of(before);
  kube::WriteOptions options;
  options.subresource = std::string(subresource);
  FLEETADM_TRY(Json stored, hub_.patch(identity.resource, identity.ns, identity.name, kube::PatchType::kMerge, body, options));
  const Json left = difference(stored, after, subresource);
  const std::lock_guard lock(mutex_);
  if (left.empty()) {
    not_taken_.erase(place);
  } else {
    not_taken_[place] = dump_json(left);
  }
  return stored;
}

Status PassWriter::write(const ObjectReader& cache, const Json& wanted) {
  const Identity identity(wanted);
  const ObjectPtr before = cache.get(type_of(wanted), identity.ns, identity.name);
  const std::string over = before ? resource_version_of(*before) : std::string();
  if (over != resource_version_of(wanted)) return fail(Category::kConflict, identity.key + " has changed");
  if (!before) return create(identity, wanted);
  FLEETADM_TRY(const Json stored, patch(identity, *before, wanted, {}));
  const bool goes = is_deleting(wanted) && list_at(wanted, {"metadata", "finalizers"}).empty();
  Json last = stored;
  if (!goes) {
    FLEETADM_TRY(last, patch(identity, stored, wanted, kStatus));
  }
  if (resource_version_of(last) != over) note_write(identity, over);
  return {};
}

Status PassWriter::remove(const ObjectReader& cache, const ObjectRef& gone) {
  const ObjectPtr now = cache.get(gone.type, gone.ns, gone.name);
  if (!now || is_deleting(*now)) return {};
  const Identity identity(*now);
  kube::DeleteOptions exactly;
  exactly.uid = uid_of(*now);
  const Result<Json> removed = hub_.remove(identity.resource, identity.ns, identity.name, exactly);
  if (removed || removed.error().category == Category::kNotFound) return {};
  return tl::unexpected(removed.error());
}

Result<controller::Outcome> PassWriter::carry_out(const ObjectReader& cache, const Pass& pass, const std::stop_token& stop) {
  if (late(cache, pass)) return controller::Outcome{kRepeat};
  std::optional<Error> failure;
  bool conflict = false;
  const auto note = [&](const Status& status) {
    if (status) return;
    if (status.error().category == Category::kConflict) {
      conflict = true;
    } else if (!failure) {
      failure = status.error();
    }
  };
  for (const Json& wanted : pass.changed) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(write(cache, wanted));
  }
  for (const ObjectRef& gone : pass.deleted) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(remove(cache, gone));
  }
  if (!failure && !pass.errors.empty()) failure = pass.errors.front();
  if (failure) return fail(std::move(*failure));
  if (conflict) return controller::Outcome{kRepeat};
  return controller::Outcome{pass.requeue_after};
}

}  // namespace fleetadm::addon
