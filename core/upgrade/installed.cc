#include "core/upgrade/installed.h"

#include <algorithm>
#include <utility>

#include "core/install/install.h"

namespace fleetadm::upgrade {
namespace {

const Json& first_container(const Json& deployment) {
  static const Json kNone = Json::object();
  const Json& containers = list_at(deployment, {"spec", "template", "spec", "containers"});
  return containers.empty() ? kNone : containers.front();
}

}  // namespace

const Json* Installed::find(std::string_view kind, std::string_view ns, std::string_view name) const {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const Json& object) {
    return str(object, {"kind"}) == kind && namespace_of(object) == ns && name_of(object) == name;
  });
  return found == objects.end() ? nullptr : &*found;
}

bool Installed::has(const Json& object) const {
  return find(str(object, {"kind"}), namespace_of(object), name_of(object)) != nullptr;
}

Result<Installed> read_installed(const kube::Client& cluster, std::string_view part) {
  Installed installed;
  kube::ListOptions which;
  which.label_selector = std::string(install::kPartLabel) + "=" + std::string(part);
  for (const kube::Resource& resource : install::installed_kinds()) {
    auto found = cluster.list(resource, "", which);
    if (!found && found.error().category == Category::kNotFound) continue;
    if (!found) return fail(found.error().wrap("cannot list what is installed of " + resource.qualified()));
    for (const Json& item : list_at(*found, {"items"})) {
      Json object = item;
      object["kind"] = resource.kind;  // items of a list do not say it
      object["apiVersion"] = resource.api_version();
      installed.objects.push_back(std::move(object));
    }
  }
  return installed;
}

void keep_namespace(Installed& installed, std::string_view ns) {
  std::erase_if(installed.objects, [&](const Json& object) {
    return str(object, {"kind"}) == "Namespace" ? name_of(object) != ns : namespace_of(object) != ns;
  });
}

std::string image_of(const Json& deployment) { return str(first_container(deployment), {"image"}); }

std::vector<std::string> args_of(const Json& deployment) { return string_list_at(first_container(deployment), {"args"}); }

}  // namespace fleetadm::upgrade
