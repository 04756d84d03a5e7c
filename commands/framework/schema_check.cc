#include "commands/framework/schema_check.h"

#include "core/apimachinery/structural.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/joined.h"
#include "templates/templates.h"

namespace fleetadm::commands {

KindSchema::KindSchema(kube::Resource resource) : resource_(std::move(resource)) {}

Status KindSchema::compile() {
  FLEETADM_TRY(const std::vector<Json> definitions, templates::render("crds/hub/" + resource_.plural + ".yaml", {}));
  for (const Json& definition : definitions) {
    for (const Json& version : list_at(definition, {"spec", "versions"})) {
      if (str(version, {"name"}) != resource_.version) continue;
      auto compiled = apimachinery::Structural::compile(object_at(version, {"schema", "openAPIV3Schema"}), "");
      if (compiled) schema_ = std::move(*compiled);
    }
  }
  if (schema_ == nullptr) return fail(Category::kInternal, "the schema of " + resource_.plural + " cannot be read");
  return {};
}

Status KindSchema::check(const Json& asked, const std::string& where, std::vector<std::string>& notes) {
  if (schema_ == nullptr) FLEETADM_CHECK(compile());
  Json object = asked;
  object.erase("status");  // nothing of it is read
  const std::string name = kube::object_key(namespace_of(object), name_of(object));
  const std::string what = lower_case(resource_.kind) + " " + name;
  std::vector<std::string> unknown;
  if (Status pruned = schema_->prune(object, unknown); !pruned) {
    return fail(Category::kInvalid, where + ": " + what + ": " + pruned.error().message);
  }
  schema_->default_values(object);
  if (const auto causes = schema_->validate(object, nullptr); !causes.empty()) {
    return fail(Category::kInvalid, where + ": " + apimachinery::invalid_message(resource_.kind, name, causes),
                "the API server would refuse it");
  }
  if (!unknown.empty()) {
    notes.push_back(where + ": " + what + ": ignored unknown fields: " + joined(unknown, ", "));
  }
  return {};
}

}  // namespace fleetadm::commands
