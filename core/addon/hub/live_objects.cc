#include "core/addon/hub/live_objects.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

/// What a pass over an add-on creates.
Result<kube::Resource> created_resource(const GroupResource& type) {
  for (const kube::Resource* resource : {&api::manifest_works(), &kube::resources::role_bindings(), &kube::resources::roles(),
                                         &kube::resources::service_accounts()}) {
    if (resource->group == type.group && resource->plural == type.resource) return *resource;
  }
  return fail(Category::kInternal, "objects of type " + type.qualified() + " are not looked up");
}

}  // namespace

Status LiveObjects::read(const kube::Client& hub, std::set<ObjectRef>& unseen) {
  for (auto ref = unseen.begin(); ref != unseen.end();) {
    std::optional<Json> live;
    if (cache_.get(ref->type, ref->ns, ref->name) == nullptr) {
      FLEETADM_TRY(const kube::Resource resource, created_resource(ref->type));
      FLEETADM_TRY(live, hub.find(resource, ref->ns, ref->name));
    }
    if (live) read_[*ref] = std::make_shared<const Json>(std::move(*live));
    ref = live ? std::next(ref) : unseen.erase(ref);
  }
  return {};
}

ObjectPtr LiveObjects::get(const GroupResource& type, std::string_view ns, std::string_view name) const {
  ObjectPtr found = cache_.get(type, ns, name);
  if (found != nullptr || read_.empty()) return found;
  const auto known = read_.find(ObjectRef{type, std::string(ns), std::string(name)});
  return known == read_.end() ? nullptr : known->second;
}

std::vector<ObjectPtr> LiveObjects::list(const GroupResource& type, std::string_view ns) const {
  std::vector<ObjectPtr> found = cache_.list(type, ns);
  for (const auto& [ref, object] : read_) {
    if (ref.type == type && (ns.empty() || ref.ns == ns)) found.push_back(object);
  }
  return found;
}

std::vector<ObjectPtr> LiveObjects::addon_works(std::string_view cluster, std::string_view addon) const {
  std::vector<ObjectPtr> found = cache_.addon_works(cluster, addon);
  for (const auto& [ref, object] : read_) {
    if (ref.type == manifest_works()) found.push_back(object);
  }
  const auto key_of = [](const ObjectPtr& work) { return kube::object_key(*work); };
  std::sort(found.begin(), found.end(), [&](const ObjectPtr& a, const ObjectPtr& b) { return key_of(a) < key_of(b); });
  return found;
}

}  // namespace fleetadm::addon
