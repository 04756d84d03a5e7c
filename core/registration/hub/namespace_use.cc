#include "core/registration/hub/namespace_use.h"

#include <vector>

#include "core/api/kinds.h"
#include "core/registration/hub/objects.h"

namespace fleetadm::registration::hub {
namespace {

const std::vector<kube::Resource>& telling_types() {
  static const std::vector<kube::Resource> types{
      kube::resources::pods(),
      kube::resources::services(),
      kube::resources::deployments(),
      {"apps", "v1", "statefulsets", "StatefulSet", true},
      {"apps", "v1", "daemonsets", "DaemonSet", true},
      {"batch", "v1", "cronjobs", "CronJob", true},
      kube::resources::jobs(),
      {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true},
      kube::resources::service_accounts(),
      kube::resources::roles(),
      kube::resources::role_bindings(),
      kube::resources::config_maps(),
  };
  return types;
}

}  // namespace

bool in_every_namespace(const kube::Resource& type, const Json& object) {
  const std::string name = name_of(object);
  if (type == kube::resources::config_maps()) return name == "kube-root-ca.crt" || name == "openshift-service-ca.crt";
  if (type == kube::resources::service_accounts()) return name == "default" || name == "builder" || name == "deployer";
  if (type == kube::resources::role_bindings()) return name.starts_with("system:");
  return false;
}

Result<std::string> namespace_use(const kube::Client& client, std::string_view ns) {
  for (const kube::Resource& type : telling_types()) {
    FLEETADM_TRY(const auto objects, list_metadata(client, type, ns));
    if (!objects) continue;
    for (const Json& object : *objects) {
      const bool of_a_cluster = find(object, {"metadata", "labels", api::kClusterNameLabel}) != nullptr;
      if (!is_deleting(object) && !of_a_cluster && !in_every_namespace(type, object)) return type.kind + " " + name_of(object);
    }
  }
  return std::string();
}

}  // namespace fleetadm::registration::hub
