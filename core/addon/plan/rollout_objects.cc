#include "core/addon/plan/rollout_objects.h"

#include <utility>

#include "core/addon/rules/conversion.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

/// Items of lists name no kind.
Json with_kind(const kube::Resource& resource, Json object) {
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  return object;
}

/// Add-ons as v1beta1, anything else as it is.
Json spoken(Json object) {
  Result<Json> converted = convert_addon(object, api::cluster_management_addons_v1beta1().api_version());
  return converted ? std::move(*converted) : std::move(object);
}

Status read_all(const kube::Client& hub, const kube::Resource& resource, const std::string& ns, const kube::ListOptions& which,
                AddonRolloutObjects& out) {
  return hub.list_each(resource, ns, which, [&](Json&& object) -> Status {
    out.keep(resource, std::move(object));
    return {};
  });
}

/// The placements of the strategy, each with its decisions.
Status read_placements(const kube::Client& hub, const Json& declaration, AddonRolloutObjects& out) {
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    const std::string ns = str(one, {"namespace"});
    const std::string name = str(one, {"name"});
    FLEETADM_TRY(auto placement, hub.find(api::placements(), ns, name));
    if (placement) out.keep(api::placements(), std::move(*placement));
    kube::ListOptions which;
    which.label_selector = std::string(api::kPlacementLabel) + "=" + name;
    FLEETADM_CHECK(read_all(hub, api::placement_decisions(), ns, which, out));
  }
  return {};
}

void add_keys(const Json& entries, std::set<ConfigKey>& keys) {
  for (const Json& one : entries) {
    ConfigKey key = config_key(one);
    if (!key.name.empty() && key.name != kNoDefaultName) keys.insert(std::move(key));
  }
}

std::set<ConfigKey> configurations_of(const Json& declaration, const std::vector<ObjectPtr>& addons) {
  std::set<ConfigKey> keys;
  add_keys(list_at(declaration, {"spec", "defaultConfigs"}), keys);
  for (const Json& placement : list_at(declaration, {"spec", "installStrategy", "placements"}))
    add_keys(list_at(placement, {"configs"}), keys);
  for (const ObjectPtr& one : addons) add_keys(list_at(*one, {"spec", "configs"}), keys);
  return keys;
}

/// What one of a type hides, all of its type count as unknown: it is not called missing.
Status read_configurations(const kube::Client& hub, const std::set<ConfigKey>& keys, AddonRolloutObjects& out) {
  for (const GroupResource& type : {addon_templates(), addon_deployment_configs()}) {
    const kube::Resource& resource = *config_resource(type);
    bool readable = true;
    for (const ConfigKey& key : keys) {
      if (!readable || key.type != type) continue;
      Result<std::optional<Json>> found = hub.find(resource, key.ns, key.name);
      readable = found || found.error().code != 403;
      if (!readable) continue;
      if (!found) return tl::unexpected(found.error());
      if (*found) out.keep(resource, std::move(**found));
    }
    if (readable) out.readable.insert(type);
  }
  return {};
}

}  // namespace

const kube::Resource* config_resource(const GroupResource& type) {
  if (type == addon_templates()) return &api::addon_templates();
  return type == addon_deployment_configs() ? &api::addon_deployment_configs() : nullptr;
}

void AddonRolloutObjects::keep(const kube::Resource& resource, Json object) {
  objects.put(spoken(with_kind(resource, std::move(object))));
}

Result<AddonRolloutObjects> read_addon_rollout(const kube::Client& hub, const std::string& addon,
                                               const std::vector<DesiredConfig>& further) {
  AddonRolloutObjects out;
  FLEETADM_TRY(auto declared, hub.find(api::cluster_management_addons(), "", addon));
  if (!declared) return fail(Category::kNotFound, "there is no add-on \"" + addon + "\" on this hub");
  out.keep(api::cluster_management_addons(), std::move(*declared));
  const ObjectPtr declaration = out.declaration(addon);
  kube::ListOptions named;
  named.field_selector = "metadata.name=" + addon;
  FLEETADM_CHECK(read_all(hub, api::managed_cluster_addons(), "", named, out));
  FLEETADM_CHECK(read_all(hub, api::managed_clusters(), "", {}, out));
  FLEETADM_CHECK(read_placements(hub, *declaration, out));
  std::set<ConfigKey> keys = configurations_of(*declaration, out.objects.addons_named(addon));
  for (const DesiredConfig& one : further) keys.insert(one.key);
  FLEETADM_CHECK(read_configurations(hub, keys, out));
  return out;
}

Result<Json> modify_declaration(const kube::Client& hub, const std::string& addon, const std::function<Status(Json&)>& change) {
  const kube::Resource& stored = api::cluster_management_addons();
  return hub.modify(stored, "", addon, [&](Json& object) -> Status {
    object = with_kind(stored, std::move(object));
    FLEETADM_TRY(Json declaration, convert_addon(object, api::cluster_management_addons_v1beta1().api_version()));
    FLEETADM_CHECK(change(declaration));
    FLEETADM_TRY(object, convert_addon(declaration, stored.api_version()));
    return {};
  });
}

}  // namespace fleetadm::addon
