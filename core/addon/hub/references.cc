#include "core/addon/hub/references.h"

#include "core/addon/rules/names.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::addon {

std::string reference_key(const GroupResource& type, const std::string& object_key) {
  return type.qualified() + "/" + object_key;
}

std::set<std::string> objects_read_by(const Json& addon) {
  std::set<std::string> objects{reference_key(managed_clusters(), namespace_of(addon))};
  if (const std::string host = annotation_of(addon, kHostingClusterAnnotation); !host.empty())
    objects.insert(reference_key(managed_clusters(), host));
  for (const Json& reference : list_at(addon, {"status", "configReferences"})) {
    const GroupResource type{str(reference, {"group"}), str(reference, {"resource"})};
    objects.insert(reference_key(
        type, kube::object_key(str(reference, {"desiredConfig", "namespace"}), str(reference, {"desiredConfig", "name"}))));
  }
  return objects;
}

void References::set(const std::string& key, std::set<std::string> objects) {
  const std::lock_guard lock(mutex_);
  std::set<std::string>& known = reads_[key];
  if (known != objects) {
    for (const std::string& object : known) {
      const auto readers = readers_.find(object);
      if (readers == readers_.end()) continue;
      readers->second.erase(key);
      if (readers->second.empty()) readers_.erase(readers);
    }
    for (const std::string& object : objects) readers_[object].insert(key);
    known = std::move(objects);
  }
  if (known.empty()) reads_.erase(key);
}

std::vector<std::string> References::readers_of(const std::string& object) const {
  const std::lock_guard lock(mutex_);
  const auto readers = readers_.find(object);
  if (readers == readers_.end()) return {};
  return {readers->second.begin(), readers->second.end()};
}

}  // namespace fleetadm::addon
