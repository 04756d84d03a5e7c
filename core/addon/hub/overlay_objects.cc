#include "core/addon/hub/overlay_objects.h"

#include <algorithm>

#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

std::vector<ObjectPtr> in_order(std::vector<kube::CachedPtr> cached) {
  std::sort(cached.begin(), cached.end(), [](const kube::CachedPtr& a, const kube::CachedPtr& b) { return a->key() < b->key(); });
  std::vector<ObjectPtr> objects;
  objects.reserve(cached.size());
  for (const kube::CachedPtr& one : cached) objects.push_back(std::make_shared<const Json>(one->decode()));
  return objects;
}

}  // namespace

std::vector<std::string> label_keys(const Json& object) {
  const std::string cluster = label_of(object, api::kClusterNameLabel);
  const std::string addon = label_of(object, api::kAddonNameLabel);
  if (cluster.empty() || addon.empty()) return {};
  return {kube::object_key(cluster, addon)};
}

kube::Informer* OverlayObjects::cache(const GroupResource& type) const {
  const auto found = caches_.find(type);
  return found == caches_.end() ? nullptr : found->second.get();
}

ObjectPtr OverlayObjects::get(const GroupResource& type, std::string_view ns, std::string_view name) const {
  const kube::Informer* own = cache(type);
  if (own == nullptr) return base_->get(type, ns, name);
  const kube::CachedPtr cached = own->get(kube::object_key(ns, name));
  return cached ? std::make_shared<const Json>(cached->decode()) : nullptr;
}

std::vector<ObjectPtr> OverlayObjects::list(const GroupResource& type, std::string_view ns) const {
  const kube::Informer* own = cache(type);
  if (own == nullptr) return base_->list(type, ns);
  std::vector<kube::CachedPtr> cached = own->list();
  if (!ns.empty()) {
    std::erase_if(cached, [&](const kube::CachedPtr& one) { return kube::split_key(one->key()).ns != ns; });
  }
  return in_order(std::move(cached));
}

std::vector<ObjectPtr> OverlayObjects::labelled(const GroupResource& type, std::string_view cluster,
                                                std::string_view addon) const {
  const kube::Informer* own = cache(type);
  if (own == nullptr) return ObjectReader::labelled(type, cluster, addon);
  return in_order(own->by_index(kByLabels, kube::object_key(cluster, addon)));
}

}  // namespace fleetadm::addon
