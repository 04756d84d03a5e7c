#include "core/addon/hub/stored_version.h"

#include <utility>

#include "core/addon/rules/conversion.h"
#include "core/api/kinds.h"

namespace fleetadm::addon {
namespace {

bool has_two_versions(std::string_view kind) {
  return kind == api::managed_cluster_addons().kind || kind == api::cluster_management_addons().kind;
}

Json in_version_of(const kube::Resource& resource, Json object) {
  if (!has_two_versions(str(object, {"kind"}))) return object;
  Result<Json> converted = convert_addon(object, resource.api_version());
  return converted ? std::move(*converted) : std::move(object);
}

}  // namespace

kube::Resource stored_resource(kube::Resource resource) {
  if (resource.group == api::managed_cluster_addons().group && has_two_versions(resource.kind))
    resource.version = api::managed_cluster_addons().version;
  return resource;
}

Json as_spoken(Json object) { return in_version_of(api::managed_cluster_addons_v1beta1(), std::move(object)); }
Json as_stored(const Json& object) { return in_version_of(api::managed_cluster_addons(), object); }

}  // namespace fleetadm::addon
