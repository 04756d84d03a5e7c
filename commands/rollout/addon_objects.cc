#include "commands/rollout/addon_objects.h"

#include <utility>
#include <vector>

#include "commands/framework/named.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "core/addon/hub/stored_version.h"
#include "core/addon/rules/config_reference.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

/// Items of lists name no kind.
Json with_kind(const kube::Resource& resource, Json object) {
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  return object;
}

void keep_object(AddonRolloutObjects& out, const kube::Resource& resource, Json object) {
  out.objects.put(addon::as_spoken(with_kind(resource, std::move(object))));
}

Status read_all(const kube::Client& hub, const kube::Resource& resource, const std::string& ns, const kube::ListOptions& which,
                AddonRolloutObjects& out) {
  return hub.list_each(resource, ns, which, [&](Json&& object) -> Status {
    keep_object(out, resource, std::move(object));
    return {};
  });
}

/// The placements of the strategy, each with its decisions.
Status read_placements(const kube::Client& hub, const Json& declaration, AddonRolloutObjects& out) {
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    const std::string ns = str(one, {"namespace"});
    const std::string name = str(one, {"name"});
    FLEETADM_TRY(auto placement, hub.find(api::placements(), ns, name));
    if (placement) keep_object(out, api::placements(), std::move(*placement));
    kube::ListOptions which;
    which.label_selector = std::string(api::kPlacementLabel) + "=" + name;
    FLEETADM_CHECK(read_all(hub, api::placement_decisions(), ns, which, out));
  }
  return {};
}

void add_keys(const Json& entries, std::set<addon::ConfigKey>& keys) {
  for (const Json& one : entries) {
    addon::ConfigKey key = addon::config_key(one);
    if (!key.name.empty() && key.name != addon::kNoDefaultName) keys.insert(std::move(key));
  }
}

std::set<addon::ConfigKey> configurations_of(const Json& declaration, const std::vector<addon::ObjectPtr>& addons) {
  std::set<addon::ConfigKey> keys;
  add_keys(list_at(declaration, {"spec", "defaultConfigs"}), keys);
  for (const Json& placement : list_at(declaration, {"spec", "installStrategy", "placements"}))
    add_keys(list_at(placement, {"configs"}), keys);
  for (const addon::ObjectPtr& one : addons) add_keys(list_at(*one, {"spec", "configs"}), keys);
  return keys;
}

/// Of the types that the hub itself reads. What one of them hides, all of its type count as unknown: it is not called missing.
Status read_configurations(const kube::Client& hub, const std::set<addon::ConfigKey>& keys, AddonRolloutObjects& out) {
  for (const auto& [type, resource] : {std::pair(addon::addon_templates(), api::addon_templates()),
                                       std::pair(addon::addon_deployment_configs(), api::addon_deployment_configs())}) {
    bool readable = true;
    for (const addon::ConfigKey& key : keys) {
      if (!readable || key.type != type) continue;
      Result<std::optional<Json>> found = hub.find(resource, key.ns, key.name);
      readable = found || found.error().code != 403;
      if (!readable) continue;
      if (!found) return tl::unexpected(found.error());
      if (*found) keep_object(out, resource, std::move(**found));
    }
    if (readable) out.known.insert(type);
  }
  return {};
}

}  // namespace

Result<AddonRolloutObjects> read_addon_rollout(const kube::Client& hub, const std::string& addon) {
  AddonRolloutObjects out;
  FLEETADM_TRY(auto declared, on_hub(hub.find(api::cluster_management_addons(), "", addon)));
  if (!declared) {
    return fail(Category::kNotFound, "there is no add-on \"" + addon + "\" on this hub",
                NearNames(hub, api::cluster_management_addons()).hint(addon, "list add-ons with: fleetadm get addons"));
  }
  keep_object(out, api::cluster_management_addons(), std::move(*declared));
  const addon::ObjectPtr declaration = out.objects.get(addon::cluster_management_addons(), {}, addon);
  kube::ListOptions named;
  named.field_selector = "metadata.name=" + addon;
  FLEETADM_CHECK(read_all(hub, api::managed_cluster_addons(), "", named, out));
  FLEETADM_CHECK(read_all(hub, api::managed_clusters(), "", {}, out));
  FLEETADM_CHECK(read_placements(hub, *declaration, out));
  FLEETADM_CHECK(read_configurations(hub, configurations_of(*declaration, out.objects.addons_named(addon)), out));
  return out;
}

}  // namespace fleetadm::commands
