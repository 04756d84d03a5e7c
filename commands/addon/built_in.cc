#include "commands/addon/built_in.h"

#include <algorithm>
#include <iterator>

#include "commands/framework/image.h"
#include "commands/framework/write_report.h"
#include "core/addon/rules/earlier_contents.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "templates/templates.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kFolder = "addons/";
constexpr std::string_view kEnding = ".yaml";

const kube::Resource& cluster_roles() {
  static const kube::Resource kType{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};
  return kType;
}

std::string part_of_addon(const std::string& name) { return "addon-" + name; }

/// The kind that the add-on is about, where the hub has not got it from "init".
std::string definition_of(const std::string& name) { return "crds/" + std::string(kFolder) + name + std::string(kEnding); }

bool is_definition(const Json& object) { return str(object, {"kind"}) == kube::resources::custom_resource_definitions().kind; }

Result<kube::Resource> built_in_resource(const Json& object) {
  for (const kube::Resource* one : {&kube::resources::custom_resource_definitions(), &cluster_roles(), &api::addon_templates(),
                                    &api::cluster_management_addons()}) {
    if (str(object, {"kind"}) == one->kind) return *one;
  }
  return fail(Category::kInternal, "no built-in add-on has a " + str(object, {"kind"}));
}

Result<std::vector<Json>> rendered_objects(const std::string& name, const std::string& image) {
  FLEETADM_TRY(std::vector<Json> objects,
               templates::render(std::string(kFolder) + name + std::string(kEnding), {{"image", Json(image)}}));
  if (const std::string definition = definition_of(name); !templates::text(definition).empty()) {
    FLEETADM_TRY(std::vector<Json> kind, templates::render(definition, {}));
    objects.insert(objects.begin(), std::make_move_iterator(kind.begin()), std::make_move_iterator(kind.end()));
  }
  for (Json& object : objects) at_or_make(object, {"metadata", "labels", install::kPartLabel}) = part_of_addon(name);
  return objects;
}

Status check_ours(const Json& existing, const kube::Resource& resource, const std::string& name) {
  if (label_of(existing, install::kPartLabel) == part_of_addon(name)) return {};
  return fail(Category::kConflict, resource.kind + " \"" + name_of(existing) + "\" exists and was not made by fleetadm",
              "delete it first, or use the add-on as it is");
}

/// A declaration keeps what people made of it.
Status bring_up_to_date(Json& object, const Json& wanted) {
  if (str(wanted, {"kind"}) == api::cluster_management_addons().kind) return {};
  if (is_definition(wanted)) {
    // One that others made stays theirs; what the server added to ours stays, too.
    if (!label_of(object, install::kPartLabel).empty()) at_or_make(object, {"spec", "versions"}) = wanted["spec"]["versions"];
    return {};
  }
  const Json before = object;
  addon::set_contents(object, addon::contents_of(wanted));
  // A template that changes in place is an upgrade, and can be undone.
  if (str(wanted, {"kind"}) == api::addon_templates().kind && addon::contents_of(before) != addon::contents_of(object))
    addon::keep_contents(object, before);
  for (const auto& [key, value] : strings_at(wanted, {"metadata", "labels"})) object["metadata"]["labels"][key] = value;
  return {};
}

}  // namespace

std::vector<std::string> built_in_addons() {
  std::vector<std::string> names;
  for (const std::string_view path : templates::list("addons"))
    names.emplace_back(path.substr(kFolder.size(), path.size() - kFolder.size() - kEnding.size()));
  return names;
}

bool is_built_in(const std::string& name) {
  const std::vector<std::string> all = built_in_addons();
  return std::find(all.begin(), all.end(), name) != all.end();
}

Result<std::vector<Json>> install_built_in(Context& context, const kube::Client& hub, const std::string& name,
                                           const std::string& image, Report& report) {
  FLEETADM_TRY(const std::vector<Json> objects, rendered_objects(name, image.empty() ? installed_image(hub) : image));
  std::vector<std::optional<Json>> existing;
  for (const Json& object : objects) {  // all are looked at before one is written
    FLEETADM_TRY(const kube::Resource resource, built_in_resource(object));
    FLEETADM_TRY(existing.emplace_back(), on_hub(hub.find(resource, "", name_of(object))));
    if (existing.back() && !is_definition(object)) FLEETADM_CHECK(check_ours(*existing.back(), resource, name));
  }
  std::vector<Json> stored;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    FLEETADM_TRY(const kube::Resource resource, built_in_resource(objects[i]));
    std::string what = "created";
    Json now;
    if (!existing[i]) {
      FLEETADM_TRY(now, hub.create(resource, "", objects[i]));
    } else {
      FLEETADM_TRY(
          now, hub.modify(resource, "", name_of(objects[i]), [&](Json& object) { return bring_up_to_date(object, objects[i]); }));
      what = resource_version_of(now) == resource_version_of(*existing[i]) && now == *existing[i] ? "unchanged" : "configured";
    }
    report.lines.push_back(told(context, resource, name_of(objects[i]), what));
    report.names.push_back(full_name(resource, name_of(objects[i])));
    now["apiVersion"] = resource.api_version();
    now["kind"] = resource.kind;
    stored.push_back(std::move(now));
  }
  return stored;
}

Result<std::vector<BuiltInObject>> installed_objects(const kube::Client& hub, const std::string& name) {
  FLEETADM_TRY(std::vector<Json> objects, rendered_objects(name, "none"));
  std::reverse(objects.begin(), objects.end());  // the declaration first, what it refers to after it
  std::vector<BuiltInObject> found;
  for (const Json& object : objects) {
    if (is_definition(object)) continue;  // with it, everything that people made of it would go
    FLEETADM_TRY(const kube::Resource resource, built_in_resource(object));
    FLEETADM_TRY(const auto existing, on_hub(hub.find(resource, "", name_of(object))));
    if (!existing) continue;
    FLEETADM_CHECK(check_ours(*existing, resource, name));
    found.push_back({resource, name_of(object), uid_of(*existing)});
  }
  return found;
}

}  // namespace fleetadm::commands
