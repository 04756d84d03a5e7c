#include "core/addon/hub/cached_objects.h"

#include <algorithm>
#include <utility>

#include "core/addon/hub/lean_objects.h"
#include "core/addon/hub/stored_version.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/token_infrastructure.h"
#include "core/api/kinds.h"
#include "kubeclient/base/log.h"

namespace fleetadm::addon {
namespace {

namespace res = kube::resources;

constexpr const char* kByName = "name";
constexpr const char* kByCluster = "cluster";
constexpr const char* kByAddon = "addon";
constexpr const char* kByLabels = "labels";
constexpr Duration kTryAgain = std::chrono::minutes(1);  // a type that could not be read

std::vector<ObjectPtr> decoded(const std::vector<kube::CachedPtr>& cached) {
  std::vector<ObjectPtr> objects;
  objects.reserve(cached.size());
  for (const kube::CachedPtr& one : cached) objects.push_back(std::make_shared<const Json>(one->decode()));
  return objects;
}

void sort_by_key(std::vector<kube::CachedPtr>& cached) {
  std::sort(cached.begin(), cached.end(), [](const kube::CachedPtr& a, const kube::CachedPtr& b) { return a->key() < b->key(); });
}

void speak(Json& object) { object = as_spoken(std::move(object)); }

}  // namespace

std::vector<std::string> addon_keys_of_work(const Json& work) {
  const std::string addon = label_of(work, api::kAddonNameLabel);
  if (addon.empty()) return {};
  const std::string of = label_of(work, kAddonNamespaceLabel);
  return {kube::object_key(of.empty() ? namespace_of(work) : of, addon)};
}

std::vector<std::string> addon_keys_of_rights(const Json& binding) {
  const std::string cluster = label_of(binding, api::kClusterNameLabel);
  const std::string addon = label_of(binding, api::kAddonNameLabel);
  if (cluster.empty() || addon.empty()) return {};
  return {kube::object_key(cluster, addon)};
}

std::vector<std::string> addon_keys_of_token(const kube::CachedObject& object) {
  const std::string addon = label_of(object.decode(), kTokenAddonLabel);
  if (addon.empty()) return {};
  return {kube::object_key(kube::split_key(object.key()).ns, addon)};
}

CachedObjects::CachedObjects(controller::Manager& manager, kube::Client hub, std::shared_ptr<Clock> clock)
    : hub_(std::move(hub)), clock_(std::move(clock)), mapper_(hub_) {
  kube::InformerOptions by_name;
  by_name.indexes.emplace_back(kByName, [](const Json& addon) { return std::vector<std::string>{name_of(addon)}; });
  by_name.indexes.emplace_back(kByCluster, [](const Json& addon) { return std::vector<std::string>{namespace_of(addon)}; });
  by_name.project = speak;
  serve(managed_cluster_addons(), manager.informer(hub_, api::managed_cluster_addons(), std::move(by_name)));
  kube::InformerOptions by_addon;
  by_addon.label_selector = api::kAddonNameLabel;
  by_addon.indexes.emplace_back(kByAddon, addon_keys_of_work);
  by_addon.project = keep_of_work;
  serve(manifest_works(), manager.informer(hub_, api::manifest_works(), std::move(by_addon)));
  kube::InformerOptions declared;
  declared.project = speak;
  serve(cluster_management_addons(), manager.informer(hub_, api::cluster_management_addons(), std::move(declared)));
  serve(addon_templates(), manager.informer(hub_, api::addon_templates()));
  serve(addon_deployment_configs(), manager.informer(hub_, api::addon_deployment_configs()));
  kube::InformerOptions known;
  known.project = keep_of_cluster;
  serve(managed_clusters(), manager.informer(hub_, api::managed_clusters(), std::move(known)));
  serve(placements(), manager.informer(hub_, api::placements()));
  serve(placement_decisions(), manager.informer(hub_, api::placement_decisions()));
  kube::InformerOptions rights;
  rights.label_selector = api::kAddonNameLabel;
  rights.indexes.emplace_back(kByLabels, addon_keys_of_rights);
  serve(role_bindings(), manager.informer(hub_, res::role_bindings(), std::move(rights)));
  const std::pair<const GroupResource*, const kube::Resource*> of_tokens[] = {
      {&service_accounts(), &res::service_accounts()}, {&roles(), &res::roles()}, {&role_bindings(), &res::role_bindings()}};
  for (const auto& [type, resource] : of_tokens) {
    kube::InformerOptions made;
    made.label_selector = std::string(kTokenMadeLabel) + "=true";
    token_caches_.push_back(manager.informer(hub_, *resource, std::move(made)));
    serve(*type, token_caches_.back());
  }
}

void CachedObjects::check_bound_sets(controller::Manager& manager) { bound_sets_.emplace(manager, hub_); }

CachedObjects::~CachedObjects() {
  for (const auto& [type, watched] : watched_) {
    if (watched.informer) watched.informer->stop();
  }
}

void CachedObjects::serve(const GroupResource& type, std::shared_ptr<kube::Informer> informer) {
  served_[type].push_back(std::move(informer));
}

std::shared_ptr<kube::Informer> CachedObjects::informer(const GroupResource& type) const {
  const auto found = served_.find(type);
  return found == served_.end() ? nullptr : found->second.front();
}

CachedObjects::Caches CachedObjects::find(const GroupResource& type) const {
  if (const auto found = served_.find(type); found != served_.end()) return found->second;
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(type);
  if (found == watched_.end() || found->second.informer == nullptr) return {};
  return {found->second.informer};
}

bool CachedObjects::knows(const GroupResource& type) const {
  const Caches caches = find(type);
  return !caches.empty() && std::all_of(caches.begin(), caches.end(), [](const auto& one) { return one->synced(); });
}

void CachedObjects::on_config_change(std::function<void(const GroupResource&)> handler) {
  for (const GroupResource* type : {&addon_templates(), &addon_deployment_configs()}) {
    informer(*type)->on_event([handler, type](auto, const auto&, const auto&) { handler(*type); });
  }
  config_changed_ = std::move(handler);
}

/// The resource of a type that the server lets us list.
Result<kube::Resource> CachedObjects::readable(const GroupResource& type) {
  FLEETADM_TRY(const kube::DiscoveredResource found, mapper_.by_name(type.qualified()));
  kube::ListOptions one;
  one.limit = 1;
  const Status listed =
      hub_.list_each(found.resource, {}, one, [](Json&&) -> Status { return fail(Category::kCancelled, "enough"); });
  if (!listed && listed.error().category != Category::kCancelled) return tl::unexpected(listed.error());
  return found.resource;
}

void CachedObjects::watch_configs(const GroupResource& type) {
  const Instant now = clock_->now();
  {
    if (served_.contains(type)) return;
    const std::lock_guard lock(mutex_);
    const auto known = watched_.find(type);
    if (known != watched_.end() && (known->second.informer || now - known->second.since < kTryAgain)) return;
    watched_[type] = {nullptr, now};
  }
  const Result<kube::Resource> resource = readable(type);
  if (!resource) {
    log::warn("addon", "configurations of type " + type.qualified() + " cannot be read: " + resource.error().message);
    return;
  }
  std::shared_ptr<kube::Informer> informer = kube::Informer::make(hub_, *resource);
  const auto tell = [changed = config_changed_, type] {
    if (changed) changed(type);
  };
  informer->on_event([tell](auto, const auto&, const auto&) { tell(); });
  informer->on_synced(tell);
  {
    const std::lock_guard lock(mutex_);
    watched_[type].informer = informer;
  }
  informer->start();  // its handlers read from here
}

ObjectPtr CachedObjects::get(const GroupResource& type, std::string_view ns, std::string_view name) const {
  for (const std::shared_ptr<kube::Informer>& cache : find(type)) {
    if (const kube::CachedPtr cached = cache->get(kube::object_key(ns, name)))
      return std::make_shared<const Json>(cached->decode());
  }
  return nullptr;
}

std::vector<ObjectPtr> CachedObjects::list(const GroupResource& type, std::string_view ns) const {
  const bool indexed = !ns.empty() && type == managed_cluster_addons();
  std::vector<kube::CachedPtr> cached;
  for (const std::shared_ptr<kube::Informer>& cache : find(type)) {
    for (kube::CachedPtr& one : indexed ? cache->by_index(kByCluster, ns) : cache->list()) cached.push_back(std::move(one));
  }
  if (!ns.empty() && !indexed) {
    std::erase_if(cached,
                  [prefix = std::string(ns) + "/"](const kube::CachedPtr& one) { return !one->key().starts_with(prefix); });
  }
  sort_by_key(cached);
  return decoded(cached);
}

std::vector<ObjectPtr> CachedObjects::addons_named(std::string_view name) const {
  std::vector<kube::CachedPtr> cached = informer(managed_cluster_addons())->by_index(kByName, name);
  sort_by_key(cached);
  std::vector<ObjectPtr> objects;
  objects.reserve(cached.size());
  for (const kube::CachedPtr& one : cached) {
    Json addon = one->decode();
    keep_of_many(addon);
    objects.push_back(std::make_shared<const Json>(std::move(addon)));
  }
  return objects;
}

std::vector<std::string> CachedObjects::addon_keys_named(std::string_view name) const {
  std::vector<std::string> keys;
  for (const kube::CachedPtr& one : informer(managed_cluster_addons())->by_index(kByName, name)) keys.push_back(one->key());
  return keys;
}

std::vector<ObjectPtr> CachedObjects::labelled(const GroupResource& type, std::string_view cluster,
                                               std::string_view addon) const {
  if (type != role_bindings()) return ObjectReader::labelled(type, cluster, addon);
  std::vector<kube::CachedPtr> cached = informer(type)->by_index(kByLabels, kube::object_key(cluster, addon));
  sort_by_key(cached);
  return decoded(cached);
}

std::string CachedObjects::outsider(const Json& placement, const work::PlacementView& decided) const {
  return bound_sets_ ? bound_sets_->outsider(placement, decided) : std::string();
}

std::vector<ObjectPtr> CachedObjects::addon_works(std::string_view cluster, std::string_view addon) const {
  std::vector<kube::CachedPtr> cached = informer(manifest_works())->by_index(kByAddon, kube::object_key(cluster, addon));
  sort_by_key(cached);
  return decoded(cached);
}

}  // namespace fleetadm::addon
