#include "core/registration/hub/objects.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/rest/modify.h"

namespace fleetadm::registration::hub {
namespace {

constexpr int kPageSize = 500;
constexpr int kMaxPages = 2000;
constexpr std::size_t kSweepFrom = 64;
constexpr auto kCachesLag = std::chrono::minutes(1);

bool has_all_of(const Json& wanted, const Json& existing) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const Json& one) { return std::find(existing.begin(), existing.end(), one) != existing.end(); });
}

Json with_wanted(const Json& existing, const Json& wanted) {
  Json out = existing;
  for (const auto& [key, value] : strings_at(wanted, {"metadata", "labels"}))
    at_or_make(out, {"metadata", "labels", key}) = value;
  for (const Json& finalizer : list_at(wanted, {"metadata", "finalizers"})) {
    Json& all = at_or_make(out, {"metadata", "finalizers"});
    if (!all.is_array()) all = Json::array();
    if (std::find(all.begin(), all.end(), finalizer) == all.end()) all.push_back(finalizer);
  }
  for (const char* part : {"rules", "subjects", "roleRef"}) {
    if (const Json* value = find(wanted, {part})) out[part] = *value;
  }
  return out;
}

Status delete_exactly(const kube::Client& client, const kube::Resource& resource, const Json& object) {
  kube::DeleteOptions options;
  options.uid = uid_of(object);
  const auto gone = client.remove(resource, namespace_of(object), name_of(object), options);
  if (gone || gone.error().category == Category::kNotFound) return {};
  return tl::unexpected(gone.error());
}

/// Makes way for an object of the same name: deletes this one and lets go of our finalizer.
Status clear(const kube::Client& client, const kube::Resource& resource, const Json& existing) {
  if (!is_deleting(existing)) FLEETADM_CHECK(delete_exactly(client, resource, existing));
  if (!has_finalizer(existing, kWorkCleanupFinalizer)) return {};
  return drop_finalizers(client, resource, namespace_of(existing), name_of(existing), {kWorkCleanupFinalizer}, uid_of(existing));
}

}  // namespace

void RecentlyMade::add(std::string path) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (made_.size() >= sweep_at_) {
    std::erase_if(made_, [&](const auto& one) { return now - one.second >= kCachesLag; });
    sweep_at_ = std::max(kSweepFrom, 2 * made_.size());
  }
  made_[std::move(path)] = now;
}

bool RecentlyMade::contains(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = made_.find(path);
  return found != made_.end() && std::chrono::steady_clock::now() - found->second < kCachesLag;
}

Json Tools::labelled(Json object) const {
  for (const auto& [key, value] : labels) {
    Json& label = at_or_make(object, {"metadata", "labels", key});
    if (label.is_null()) label = value;
  }
  return object;
}

Status Tools::modify_cluster(const Json& known, const std::function<void(Json&)>& change, const std::stop_token& stop,
                             std::string_view subresource) const {
  const auto stored = kube::modify_fields(
      client.with_stop(stop), api::managed_clusters(), known,
      [&](Json& object) -> Status {
        if (uid_of(object) == uid_of(known)) change(object);
        return {};
      },
      subresource);
  if (stored && resource_version_of(*stored) != resource_version_of(known)) clusters->note(*stored);
  if (stored || stored.error().category == Category::kNotFound) return {};
  return tl::unexpected(stored.error());
}

bool covers(const Json& existing, const Json& wanted) {
  if (is_deleting(existing)) return false;
  const auto labels = strings_at(existing, {"metadata", "labels"});
  for (const auto& [key, value] : strings_at(wanted, {"metadata", "labels"})) {
    const auto known = labels.find(key);
    if (known == labels.end() || known->second != value) return false;
  }
  if (!has_all_of(list_at(wanted, {"metadata", "finalizers"}), list_at(existing, {"metadata", "finalizers"}))) return false;
  for (const char* part : {"rules", "subjects", "roleRef"}) {
    const Json* value = find(wanted, {part});
    const Json* known = find(existing, {part});
    if (value != nullptr && (known == nullptr || *known != *value)) return false;
  }
  return true;
}

bool settled(const Json& wanted, const kube::CachedPtr& cached) { return cached && covers(cached->decode(), wanted); }

Status Tools::ensure(const kube::Client& hub, const kube::Resource& resource, const Json& object,
                     const kube::CachedPtr& cached) const {
  const Json wanted = labelled(object);
  if (settled(wanted, cached)) return {};
  const std::string ns = namespace_of(wanted);
  const std::string name = name_of(wanted);
  const std::string path = resource.path(ns, name);
  if (!cached && !recently_made->contains(path)) {
    const auto created = hub.create(resource, ns, wanted);
    if (created) recently_made->add(path);
    if (created || created.error().reason != "AlreadyExists") return created.map([](const Json&) {});
  }
  FLEETADM_TRY(auto existing, hub.find(resource, ns, name));
  const Json* role = find(wanted, {"roleRef"});
  if (existing && resource.namespaced && is_deleting(*existing)) {
    FLEETADM_CHECK(clear(hub, resource, *existing));
    existing.reset();
  } else if (existing && role != nullptr && object_at(*existing, {"roleRef"}) != *role) {
    FLEETADM_CHECK(clear(hub, resource, *existing));
    existing.reset();
  }
  if (!existing) {
    FLEETADM_TRY([[maybe_unused]] const Json made, hub.create(resource, ns, wanted));
    return {};
  }
  if (covers(*existing, wanted)) return {};
  FLEETADM_TRY([[maybe_unused]] const Json stored, hub.update(resource, with_wanted(*existing, wanted)));
  return {};
}

Status remove_labelled(const kube::Client& client, const kube::Resource& resource, std::string_view ns, std::string_view name,
                       std::string_view cluster) {
  FLEETADM_TRY(const auto existing, client.find(resource, ns, name));
  if (!existing || is_deleting(*existing) || label_of(*existing, api::kClusterNameLabel) != cluster) return {};
  return delete_exactly(client, resource, *existing);
}

Status remove_selected(const kube::Client& client, const kube::Resource& resource, std::string_view ns,
                       const std::string& label_selector, const std::set<std::string>& names) {
  kube::ListOptions which;
  which.label_selector = label_selector;
  FLEETADM_TRY(const Json selected, client.list(resource, ns, which));
  std::vector<Json> staying;
  bool others = false;
  for (const Json& object : list_at(selected, {"items"})) {
    const bool ours = names.contains(name_of(object));
    others = others || !ours;
    if (ours && !is_deleting(object)) staying.push_back(object);
  }
  if (staying.size() > 1 && !others) return client.remove_collection(resource, ns, which).map([](const Json&) {});
  for (const Json& object : staying) FLEETADM_CHECK(delete_exactly(client, resource, object));
  return {};
}

Status drop_finalizers(const kube::Client& client, const kube::Resource& resource, std::string_view ns, std::string_view name,
                       const std::vector<std::string_view>& finalizers, std::string_view uid) {
  const auto goes = [&](const Json& one) {
    return one.is_string() &&
           std::find(finalizers.begin(), finalizers.end(), one.get_ref<const std::string&>()) != finalizers.end();
  };
  const auto done = client.modify(resource, ns, name, [&](Json& object) -> Status {
    if (!uid.empty() && uid_of(object) != uid) return {};  // a successor of the same name: not ours to touch
    Json kept = Json::array();
    for (const Json& one : list_at(object, {"metadata", "finalizers"})) {
      if (!goes(one)) kept.push_back(one);
    }
    if (kept.empty()) {
      erase_at(object, {"metadata", "finalizers"});
    } else {
      at_or_make(object, {"metadata", "finalizers"}) = std::move(kept);
    }
    return {};
  });
  if (done || done.error().category == Category::kNotFound) return {};
  return tl::unexpected(done.error());
}

Result<std::optional<std::vector<Json>>> list_metadata(const kube::Client& client, const kube::Resource& resource,
                                                       std::string_view ns, std::size_t most) {
  std::vector<Json> all;
  std::string next;
  for (int page = 0; page < kMaxPages; ++page) {
    kube::Request request;
    request.path = resource.path(ns);
    request.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    request.query.emplace_back("limit", std::to_string(most > 0 ? most : static_cast<std::size_t>(kPageSize)));
    if (!next.empty()) request.query.emplace_back("continue", next);
    const auto response = client.raw(request);
    // A collection answers 404 only where its type is not served; a namespace that does not exist lists as empty.
    if (!response && response.error().category == Category::kNotFound && page == 0) return std::nullopt;
    if (!response) return tl::unexpected(response.error());
    if (response->status == 404 && page == 0) return std::nullopt;
    if (response->status < 200 || response->status > 299) return tl::unexpected(kube::error_of(*response, request));
    FLEETADM_TRY(const Json list, parse_json(response->body));
    const Json* items = find(list, {"items"});
    if (items == nullptr || !(items->is_array() || items->is_null())) {
      return fail(Category::kUnavailable, "the list of " + resource.qualified() + " has no items");
    }
    for (const Json& item : *items) {
      all.push_back({{"metadata", object_at(item, {"metadata"})}});
      if (most > 0 && all.size() >= most) return all;
    }
    next = str(list, {"metadata", "continue"});
    if (next.empty()) return all;
  }
  return fail(Category::kUnavailable, "the list of " + resource.qualified() + " does not end");
}

Result<bool> works_left(const kube::Client& client, std::string_view cluster) {
  FLEETADM_TRY(const auto works, list_metadata(client, api::manifest_works(), cluster, 1));
  return works && !works->empty();
}

Duration deletion_pause(const Json& object, Instant now) {
  const auto since = parse_time(str(object, {"metadata", "deletionTimestamp"}));
  if (since && *since <= now && now - *since < std::chrono::seconds(30)) return std::chrono::seconds(1);
  return std::chrono::seconds(5);
}

bool is_transient(const Error& error) {
  switch (error.category) {
    case Category::kConflict:
    case Category::kUnavailable:
    case Category::kTimeout:
    case Category::kCancelled:
    case Category::kTls: return true;
    default: return false;
  }
}

}  // namespace fleetadm::registration::hub
