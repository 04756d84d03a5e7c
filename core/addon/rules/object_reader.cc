#include "core/addon/rules/object_reader.h"

#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::addon {

std::string GroupResource::qualified() const { return group.empty() ? resource : resource + "." + group; }

#define FLEETADM_ADDON_TYPE(fn, group, resource)      \
  const GroupResource& fn() {                         \
    static const GroupResource type{group, resource}; \
    return type;                                      \
  }
FLEETADM_ADDON_TYPE(managed_cluster_addons, "addon.open-cluster-management.io", "managedclusteraddons")
FLEETADM_ADDON_TYPE(cluster_management_addons, "addon.open-cluster-management.io", "clustermanagementaddons")
FLEETADM_ADDON_TYPE(addon_templates, "addon.open-cluster-management.io", "addontemplates")
FLEETADM_ADDON_TYPE(addon_deployment_configs, "addon.open-cluster-management.io", "addondeploymentconfigs")
FLEETADM_ADDON_TYPE(managed_clusters, "cluster.open-cluster-management.io", "managedclusters")
FLEETADM_ADDON_TYPE(placements, "cluster.open-cluster-management.io", "placements")
FLEETADM_ADDON_TYPE(placement_decisions, "cluster.open-cluster-management.io", "placementdecisions")
FLEETADM_ADDON_TYPE(manifest_works, "work.open-cluster-management.io", "manifestworks")
FLEETADM_ADDON_TYPE(certificate_requests, "certificates.k8s.io", "certificatesigningrequests")
FLEETADM_ADDON_TYPE(secrets, "", "secrets")
FLEETADM_ADDON_TYPE(service_accounts, "", "serviceaccounts")
FLEETADM_ADDON_TYPE(roles, "rbac.authorization.k8s.io", "roles")
FLEETADM_ADDON_TYPE(role_bindings, "rbac.authorization.k8s.io", "rolebindings")
#undef FLEETADM_ADDON_TYPE

namespace {

std::string plural_of(std::string_view kind) {
  std::string lower = lower_case(kind);
  const auto ends = [&](std::string_view with) { return lower.ends_with(with); };
  if (ends("y") && !ends("ay") && !ends("ey") && !ends("oy")) {
    lower.pop_back();
    return lower + "ies";
  }
  if (ends("s") || ends("x") || ends("ch") || ends("sh")) return lower + "es";
  return lower + "s";
}

}  // namespace

GroupResource type_of(const Json& object) {
  return {kube::parse_api_version(str(object, {"apiVersion"})).group, plural_of(str(object, {"kind"}))};
}

std::vector<ObjectPtr> ObjectReader::addons_named(std::string_view name) const {
  std::vector<ObjectPtr> named;
  for (ObjectPtr& addon : list(managed_cluster_addons())) {
    if (name_of(*addon) == name) named.push_back(std::move(addon));
  }
  return named;
}

std::vector<ObjectPtr> ObjectReader::labelled(const GroupResource& type, std::string_view cluster, std::string_view addon) const {
  std::vector<ObjectPtr> found;
  for (ObjectPtr& object : list(type)) {
    if (label_of(*object, api::kClusterNameLabel) == cluster && label_of(*object, api::kAddonNameLabel) == addon) {
      found.push_back(std::move(object));
    }
  }
  return found;
}

std::string ObjectReader::outsider(const Json&, const work::PlacementView&) const { return {}; }

std::vector<ObjectPtr> ObjectReader::addon_works(std::string_view cluster, std::string_view addon) const {
  std::vector<ObjectPtr> found;
  for (ObjectPtr& work : list(manifest_works())) {
    if (is_addon_work(*work, cluster, addon)) found.push_back(std::move(work));
  }
  return found;
}

bool is_addon_work(const Json& work, std::string_view cluster, std::string_view addon) {
  const std::string of = label_of(work, kAddonNamespaceLabel);
  return label_of(work, api::kAddonNameLabel) == addon && (of.empty() ? namespace_of(work) : of) == cluster;
}

Result<MemoryObjects> MemoryObjects::from(const Json& objects) {
  MemoryObjects made;
  if (!objects.is_array()) return made;
  for (const Json& object : objects) {
    if (str(object, {"kind"}).empty() || name_of(object).empty())
      return fail(Category::kInvalid, "an object without a kind or a name");
    made.put(object);
  }
  return made;
}

ObjectPtr MemoryObjects::get(const GroupResource& type, std::string_view ns, std::string_view name) const {
  const auto of_type = objects_.find(type);
  if (of_type == objects_.end()) return nullptr;
  const auto found = of_type->second.find({std::string(ns), std::string(name)});
  return found == of_type->second.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> MemoryObjects::list(const GroupResource& type, std::string_view ns) const {
  std::vector<ObjectPtr> found;
  const auto of_type = objects_.find(type);
  if (of_type == objects_.end()) return found;
  for (const auto& [key, object] : of_type->second) {
    if (ns.empty() || key.first == ns) found.push_back(object);
  }
  return found;
}

void MemoryObjects::put(Json object) {
  const GroupResource type = type_of(object);
  const std::pair<std::string, std::string> key{namespace_of(object), name_of(object)};
  objects_[type][key] = std::make_shared<const Json>(std::move(object));
}

bool MemoryObjects::remove(const GroupResource& type, std::string_view ns, std::string_view name) {
  const auto of_type = objects_.find(type);
  return of_type != objects_.end() && of_type->second.erase({std::string(ns), std::string(name)}) > 0;
}

std::vector<ObjectPtr> MemoryObjects::all() const {
  std::vector<ObjectPtr> found;
  for (const auto& [type, objects] : objects_) {
    for (const auto& [key, object] : objects) found.push_back(object);
  }
  return found;
}

}  // namespace fleetadm::addon
