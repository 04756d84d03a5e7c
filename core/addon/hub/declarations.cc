#include "core/addon/hub/declarations.h"

#include <set>

#include "core/addon/rules/config_reference.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::addon {

std::vector<std::string> declarations_where(const ObjectReader& objects, const std::function<bool(const Json&)>& concerned) {
  std::vector<std::string> names;
  for (const ObjectPtr& declaration : objects.list(cluster_management_addons())) {
    if (concerned(*declaration)) names.push_back(name_of(*declaration));
  }
  return names;
}

bool names_placement(const Json& declaration, std::string_view placement) {
  for (const Json& entry : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    if (kube::object_key(str(entry, {"namespace"}), str(entry, {"name"})) == placement) return true;
  }
  return false;
}

std::vector<GroupResource> config_types_of(const Json& declaration) {
  std::set<GroupResource> types;
  for (const Json& entry : list_at(declaration, {"spec", "defaultConfigs"})) types.insert(config_key(entry).type);
  for (const Json& placement : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    for (const Json& entry : list_at(placement, {"configs"})) types.insert(config_key(entry).type);
  }
  return {types.begin(), types.end()};
}

}  // namespace fleetadm::addon
