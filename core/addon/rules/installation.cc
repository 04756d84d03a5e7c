#include "core/addon/rules/installation.h"

#include "core/addon/rules/config_reference.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/placement_groups.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

Json owner_of(const Json& declaration) {
  return Json::object({{"apiVersion", api::cluster_management_addons_v1beta1().api_version()},
                       {"kind", api::cluster_management_addons_v1beta1().kind},
                       {"name", name_of(declaration)},
                       {"uid", uid_of(declaration)},
                       {"controller", true},
                       {"blockOwnerDeletion", true}});
}

Json new_addon(const Json& declaration, const Json& cluster) {
  const kube::Resource& type = api::managed_cluster_addons_v1beta1();
  Json addon = Json::object({{"apiVersion", type.api_version()}, {"kind", type.kind}, {"spec", Json::object()}});
  addon["metadata"] = Json::object({{"name", name_of(declaration)},
                                    {"namespace", name_of(cluster)},
                                    {"ownerReferences", Json::array({owner_of(declaration)})}});
  for (const auto& [key, value] : strings_at(cluster, {"metadata", "annotations"})) {
    if (key.starts_with(kAnnotationPrefix)) at_or_make(addon, {"metadata", "annotations", key}) = value;
  }
  return addon;
}

}  // namespace

Pass install_addon(const ObjectReader& objects, std::string_view addon, rollout::Semantics conduct) {
  Pass pass;
  const ObjectPtr declaration = objects.get(cluster_management_addons(), {}, addon);
  if (!declaration || is_deleting(*declaration) || !is_managed(*declaration) || !is_installed_by_placements(*declaration)) {
    return pass;
  }
  std::set<std::string> wanted;
  bool complete = true;
  for (const Json& entry : list_at(*declaration, {"spec", "installStrategy", "placements"})) {
    const PlacementGroups groups = read_groups(objects, str(entry, {"namespace"}), str(entry, {"name"}), conduct);
    if (!groups.placement) continue;
    if (groups.beyond_bounds) {
      pass.errors.push_back(fail(Category::kAuth, groups.problem).value());
      complete = false;  // what it installed before stays until its decisions can be followed
      continue;
    }
    wanted.insert(groups.clusters.begin(), groups.clusters.end());
    complete = complete && groups.complete();
  }
  for (const ObjectPtr& existing : objects.addons_named(addon)) {
    if (wanted.erase(namespace_of(*existing)) > 0 || is_deleting(*existing)) continue;
    if (complete || conduct == rollout::Semantics::kUpstream) {
      pass.deleted.push_back({managed_cluster_addons(), namespace_of(*existing), name_of(*existing)});
    }
  }
  for (const std::string& name : wanted) {
    if (const ObjectPtr cluster = objects.get(managed_clusters(), {}, name)) {
      // One that leaves is still in the decisions for a moment: what has been removed for it must not come back.
      if (is_deleting(*cluster) && conduct == rollout::Semantics::kStrict) continue;
      pass.changed.push_back(new_addon(*declaration, *cluster));
    } else {
      pass.errors.push_back(fail(Category::kNotFound, "there is no ManagedCluster " + name).value());
    }
  }
  return pass;
}

void set_owner(Json& addon, const Json& declaration) {
  if (is_deleting(addon) || is_deleting(declaration) || !is_managed(declaration)) return;
  const auto is_declaration = [&](const Json& owner) {
    return str(owner, {"kind"}) == api::cluster_management_addons().kind && str(owner, {"name"}) == name_of(declaration) &&
           kube::parse_api_version(str(owner, {"apiVersion"})).group == kGroup;
  };
  Json owners = Json::array();
  for (const Json& owner : list_at(addon, {"metadata", "ownerReferences"})) {
    if (is_declaration(owner) && str(owner, {"uid"}) == uid_of(declaration) && flag(owner, {"controller"})) return;
    if (!is_declaration(owner)) owners.push_back(owner);
  }
  owners.push_back(owner_of(declaration));
  at_or_make(addon, {"metadata", "ownerReferences"}) = std::move(owners);
}

void take_annotations(Json& addon, const Json& declaration, const ObjectReader& objects, rollout::Semantics conduct) {
  const ObjectPtr cluster = objects.get(managed_clusters(), {}, namespace_of(addon));
  if (!cluster || !is_installed_by_placements(declaration)) return;
  Json annotations = Json::object();
  for (const auto& [key, value] : strings_at(addon, {"metadata", "annotations"})) {
    const bool own = conduct == rollout::Semantics::kStrict && (key == kValuesAnnotation || key == kInstallNamespaceAnnotation);
    if (own || !key.starts_with(kAnnotationPrefix)) annotations[key] = value;
  }
  for (const auto& [key, value] : strings_at(*cluster, {"metadata", "annotations"})) {
    if (key.starts_with(kAnnotationPrefix)) annotations[key] = value;
  }
  if (annotations == object_at(addon, {"metadata", "annotations"})) return;
  at_or_make(addon, {"metadata", "annotations"}) = std::move(annotations);
}

Pass sync_annotations(const ObjectReader& objects, std::string_view cluster, rollout::Semantics conduct) {
  Pass pass;
  for (const ObjectPtr& before : objects.list(managed_cluster_addons(), cluster)) {
    const ObjectPtr declaration = objects.get(cluster_management_addons(), {}, name_of(*before));
    if (!declaration) continue;
    Json after = *before;
    take_annotations(after, *declaration, objects, conduct);
    if (after != *before) pass.changed.push_back(std::move(after));
  }
  return pass;
}

}  // namespace fleetadm::addon
