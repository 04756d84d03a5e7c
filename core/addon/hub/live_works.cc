#include "core/addon/hub/live_works.h"

#include <algorithm>

#include "core/api/kinds.h"

namespace fleetadm::addon {

Status LiveWorks::read(const kube::Client& hub, const std::set<std::string>& keys) {
  for (const std::string& key : keys) {
    const kube::ObjectName split = kube::split_key(key);
    if (cache_.get(manifest_works(), split.ns, split.name) != nullptr) continue;
    Result<Json> live = hub.get(api::manifest_works(), split.ns, split.name);
    if (live) {
      read_[key] = std::make_shared<const Json>(std::move(*live));
    } else if (live.error().category != Category::kNotFound) {
      return tl::unexpected(live.error());
    }
  }
  return {};
}

ObjectPtr LiveWorks::get(const GroupResource& type, std::string_view ns, std::string_view name) const {
  ObjectPtr found = cache_.get(type, ns, name);
  if (found != nullptr || type != manifest_works()) return found;
  const auto known = read_.find(kube::object_key(ns, name));
  return known == read_.end() ? nullptr : known->second;
}

std::vector<ObjectPtr> LiveWorks::list(const GroupResource& type, std::string_view ns) const {
  std::vector<ObjectPtr> found = cache_.list(type, ns);
  if (type != manifest_works()) return found;
  for (const auto& [key, work] : read_) {
    if (ns.empty() || namespace_of(*work) == ns) found.push_back(work);
  }
  return found;
}

std::vector<ObjectPtr> LiveWorks::addon_works(std::string_view cluster, std::string_view addon) const {
  std::vector<ObjectPtr> found = cache_.addon_works(cluster, addon);
  for (const auto& [key, work] : read_) found.push_back(work);
  const auto key_of = [](const ObjectPtr& work) { return kube::object_key(*work); };
  std::sort(found.begin(), found.end(), [&](const ObjectPtr& a, const ObjectPtr& b) { return key_of(a) < key_of(b); });
  return found;
}

}  // namespace fleetadm::addon
