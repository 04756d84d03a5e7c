#include "core/addon/plan/config_edit.h"

#include <algorithm>
#include <utility>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/earlier_contents.h"

namespace fleetadm::addon {
namespace {

Json bare_config(const kube::Resource& resource, const ConfigKey& key) {
  Json object{{"apiVersion", resource.api_version()}, {"kind", resource.kind}, {"metadata", {{"name", key.name}}}};
  if (!key.ns.empty()) object["metadata"]["namespace"] = key.ns;
  return object;
}

}  // namespace

Result<std::vector<ConfigEdit>> edits_towards(const AddonRolloutObjects& read, const std::vector<DesiredConfig>& wanted) {
  std::vector<ConfigEdit> edits;
  for (const DesiredConfig& one : wanted) {
    const bool known = std::any_of(edits.begin(), edits.end(), [&](const ConfigEdit& edit) { return edit.key == one.key; });
    if (known || one.hash.empty() || !read.readable.contains(one.key.type)) continue;
    const ObjectPtr object = read.objects.get(one.key.type, one.key.ns, one.key.name);
    if (!object) return fail(Category::kConflict, one.key.text() + " does not exist any more");
    const std::string now = config_spec_hash(*object);
    if (now == one.hash) continue;
    std::optional<Json> contents = contents_with(*object, one.hash);
    if (!contents) {
      return fail(Category::kConflict, "the earlier contents of " + one.key.text() + " are not known: it was edited in place",
                  "edits by \"fleetadm addon config\" keep them; restore the object by hand");
    }
    edits.push_back({one.key, std::move(*contents), now});
  }
  return edits;
}

void make_edit(MemoryObjects& objects, const ConfigEdit& edit) {
  const ObjectPtr before = objects.get(edit.key.type, edit.key.ns, edit.key.name);
  Json object = before ? *before : bare_config(*config_resource(edit.key.type), edit.key);
  set_contents(object, edit.contents);
  objects.put(std::move(object));
}

Result<Json> write_edit(const kube::Client& hub, const ConfigEdit& edit) {
  const kube::Resource* resource = config_resource(edit.key.type);
  if (resource == nullptr) return fail(Category::kUnsupported, edit.key.text() + " cannot be edited here");
  if (edit.before.empty()) {
    Json object = bare_config(*resource, edit.key);
    set_contents(object, edit.contents);
    return hub.create(*resource, edit.key.ns, object);
  }
  return hub.modify(*resource, edit.key.ns, edit.key.name, [&](Json& object) -> Status {
    const std::string now = config_spec_hash(object);
    if (now != edit.before)
      return fail(Category::kConflict, edit.key.text() + " was changed in the meantime", "run the command again");
    const Json before = object;
    set_contents(object, edit.contents);
    keep_contents(object, before);
    return {};
  });
}

}  // namespace fleetadm::addon
