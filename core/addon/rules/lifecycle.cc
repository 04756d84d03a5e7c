#include "core/addon/rules/lifecycle.h"

#include "core/addon/rules/names.h"

namespace fleetadm::addon {

bool may_have_template(const Json& declaration) {
  for (const Json& config : list_at(declaration, {"spec", "defaultConfigs"})) {
    if (str(config, {"group"}) == kGroup && str(config, {"resource"}) == kTemplates) return true;
  }
  return false;
}

Pass lifecycle_pass(const ObjectReader& objects, std::string_view addon) {
  Pass pass;
  const ObjectPtr declaration = objects.get(cluster_management_addons(), {}, addon);
  if (declaration == nullptr || !may_have_template(*declaration)) return pass;
  if (annotation_of(*declaration, kLifecycleAnnotation) != "self") return pass;
  Json changed = *declaration;
  at_or_make(changed, {"metadata", "annotations", kLifecycleAnnotation}) = "";
  pass.changed.push_back(std::move(changed));
  return pass;
}

}  // namespace fleetadm::addon
