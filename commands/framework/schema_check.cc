#include "commands/framework/schema_check.h"

#include "core/api/kinds.h"
#include "core/apimachinery/structural.h"
#include "kubeclient/base/joined.h"
#include "templates/templates.h"

namespace fleetadm::commands {

Status PlacementSchema::compile() {
  FLEETADM_TRY(const std::vector<Json> definitions, templates::render("crds/hub/placements.yaml", {}));
  for (const Json& definition : definitions) {
    for (const Json& version : list_at(definition, {"spec", "versions"})) {
      if (str(version, {"name"}) != api::placements().version) continue;
      auto compiled = apimachinery::Structural::compile(object_at(version, {"schema", "openAPIV3Schema"}), "");
      if (compiled) schema_ = std::move(*compiled);
    }
  }
  if (schema_ == nullptr) return fail(Category::kInternal, "the schema of placements cannot be read");
  return {};
}

Status PlacementSchema::check(const Json& placement, const std::string& where, std::vector<std::string>& notes) {
  if (schema_ == nullptr) FLEETADM_CHECK(compile());
  Json object = placement;
  object.erase("status");  // nothing of it is read
  const std::string name = namespace_of(object) + "/" + name_of(object);
  std::vector<std::string> unknown;
  if (Status pruned = schema_->prune(object, unknown); !pruned) {
    return fail(Category::kInvalid, where + ": placement " + name + ": " + pruned.error().message);
  }
  schema_->default_values(object);
  if (const auto causes = schema_->validate(object, nullptr); !causes.empty()) {
    return fail(Category::kInvalid, where + ": " + apimachinery::invalid_message(api::placements().kind, name, causes),
                "the API server would refuse it");
  }
  if (!unknown.empty()) {
    notes.push_back(where + ": placement " + name + ": ignored unknown fields: " + joined(unknown, ", "));
  }
  return {};
}

}  // namespace fleetadm::commands
