#include "core/addon/hub/pass_writer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/addon/hub/stored_version.h"

namespace fleetadm::addon {
namespace {

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
  if (known->second.over.contains(version) && clock_->now() - known->second.at < kPatience) return true;
  written_.erase(known);
  return false;
}

bool PassWriter::late(const ObjectReader& cache, const std::vector<Json>& objects) {
  for (const Json& wanted : objects) {
    const Identity identity(wanted);
    const ObjectPtr now = cache.get(type_of(wanted), identity.ns, identity.name);
    const std::lock_guard lock(mutex_);
    if (still_shows(identity.key, now ? resource_version_of(*now) : std::string())) return true;
  }
  return false;
}

void PassWriter::saw(const GroupResource& type, const kube::CachedPtr& after, const std::string& object_key) {
  const std::lock_guard lock(mutex_);
  const auto known = written_.find(type.qualified() + "/" + object_key);
  if (known != written_.end() && (!after || !known->second.over.contains(after->resource_version()))) written_.erase(known);
}

void PassWriter::note_write(const Identity& identity, std::string over) {
  const Instant now = clock_->now();
  const std::lock_guard lock(mutex_);
  if (written_.size() >= kMany) std::erase_if(written_, [&](const auto& one) { return now - one.second.at >= kPatience; });
  Written& written = written_[identity.key];
  if (now - written.at >= kPatience) written.over.clear();
  written.over.insert(std::move(over));
  written.at = now;
}

Status PassWriter::create(const Identity& identity, const Json& wanted) {
  Json body = as_stored(wanted);
  body.erase(std::string(kStatus));
  FLEETADM_TRY(const Json created, hub_.create(identity.resource, identity.ns, body));
  note_write(identity, {});
  if (find(wanted, {kStatus}) == nullptr) return {};
  FLEETADM_CHECK(patch(created, wanted, kStatus));
  return {};
}

Result<Json> PassWriter::patch(const Json& before, const Json& after, std::string_view subresource) {
  return patch(before, after, subresource, resource_version_of(before));
}

/// `version`: of the object as the server has it, from which `before` may differ by what was written of it just now.
Result<Json> PassWriter::patch(const Json& before, const Json& after, std::string_view subresource, const std::string& version) {
  const Identity identity(before);
  const std::string place = identity.key + " " + std::string(subresource);
  Json body = difference(before, after, subresource);
  const std::string text = dump_json(body);
  {
    const std::lock_guard lock(mutex_);
    const auto known = not_taken_.find(place);
    if (body.empty() || (known != not_taken_.end() && known->second == text)) return before;
  }
  const Json change = body;
  at_or_make(body, {"metadata", "uid"}) = uid_of(before);
  at_or_make(body, {"metadata", "resourceVersion"}) = version;
  kube::WriteOptions options;
  options.subresource = std::string(subresource);
  FLEETADM_TRY(Json stored, hub_.patch(identity.resource, identity.ns, identity.name, kube::PatchType::kMerge, body, options));
  if (resource_version_of(stored) != version) note_write(identity, version);
  const Json taken = part_of(as_stored(stored), subresource);
  Json again = taken;
  again.merge_patch(change);
  const Json left = kube::merge_diff(taken, again);
  const std::lock_guard lock(mutex_);
  if (left.empty()) {
    not_taken_.erase(place);
  } else {
    not_taken_[place] = dump_json(left);
  }
  return stored;
}

Status PassWriter::write_one(const ObjectReader& cache, const Json& wanted) {
  const Identity identity(wanted);
  const ObjectPtr before = cache.get(type_of(wanted), identity.ns, identity.name);
  const std::string over = before ? resource_version_of(*before) : std::string();
  if (over != resource_version_of(wanted)) return fail(Category::kConflict, identity.key + " has changed");
  if (!before) return create(identity, wanted);
  FLEETADM_TRY(const Json stored, patch(*before, wanted, {}));
  const bool goes = is_deleting(wanted) && list_at(wanted, {"metadata", "finalizers"}).empty();
  if (!goes) FLEETADM_CHECK(patch(*before, wanted, kStatus, resource_version_of(stored)));
  return {};
}

std::vector<Status> PassWriter::write(const ObjectReader& cache, const std::vector<Json>& objects, const std::stop_token& stop) {
  std::vector<Status> written(objects.size());
  helpers_.run(objects.size(), [&](std::size_t i) {
    written[i] = stop.stop_requested() ? Status(fail(Category::kCancelled, "stopped")) : write_one(cache, objects[i]);
  });
  return written;
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
  if (late(cache, pass.changed)) return controller::Outcome{kRepeatSoon};
  std::vector<Status> done = write(cache, pass.changed, stop);
  std::vector<Status> removed(pass.deleted.size());
  helpers_.run(pass.deleted.size(), [&](std::size_t i) {
    if (!stop.stop_requested()) removed[i] = remove(cache, pass.deleted[i]);
  });
  if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
  std::move(removed.begin(), removed.end(), std::back_inserter(done));
  std::optional<Error> failure;
  bool conflict = false;
  for (const Status& status : done) {
    if (status) continue;
    if (status.error().category == Category::kConflict) {
      conflict = true;
    } else if (!failure) {
      failure = status.error();
    }
  }
  if (!failure && !pass.errors.empty()) failure = pass.errors.front();
  if (failure) return fail(std::move(*failure));
  if (conflict) return controller::Outcome{kRepeatSoon};
  return controller::Outcome{pass.requeue_after};
}

}  // namespace fleetadm::addon
