#include "core/addon/rules/manifest_marks.h"

#include "core/addon/rules/names.h"
#include "core/addon/rules/object_reader.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::addon {
namespace {

/// An annotation, or a label of the same key, which older manifests have.
std::optional<std::string> mark_of(const Json& manifest, std::string_view key) {
  for (const std::string_view member : {"annotations", "labels"}) {
    const Json* value = find(manifest, {"metadata", member, key});
    if (value != nullptr && value->is_string()) return value->get<std::string>();
  }
  return std::nullopt;
}

}  // namespace

Result<Location> location_of(const Json& manifest) {
  const std::optional<std::string> mark = mark_of(manifest, kHostedLocationAnnotation);
  if (!mark || mark->empty() || *mark == "managed") return Location::kManaged;
  if (*mark == "hosting") return Location::kHosting;
  if (*mark == "none") return Location::kNowhere;
  return fail(Category::kInvalid, "not supported manifest location: " + *mark);
}

bool is_pre_delete_hook(const Json& manifest) {
  const std::string kind = str(manifest, {"kind"});
  return (kind == "Job" || kind == "Pod") && mark_of(manifest, kPreDeleteAnnotation).has_value();
}

bool is_orphaned(const Json& manifest) { return mark_of(manifest, kDeletionOrphanAnnotation).has_value(); }

std::string manifest_key(const Json& manifest) {
  const kube::GroupVersion version = kube::parse_api_version(str(manifest, {"apiVersion"}));
  return version.group + "/" + version.version + "/" + str(manifest, {"kind"}) + "/" + namespace_of(manifest) + "/" +
         name_of(manifest);
}

Json resource_identifier(const Json& manifest) {
  const GroupResource type = type_of(manifest);
  return Json{
      {"group", type.group}, {"resource", type.resource}, {"namespace", namespace_of(manifest)}, {"name", name_of(manifest)}};
}

}  // namespace fleetadm::addon
