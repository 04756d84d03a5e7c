#include "core/registration/join/remove_object.h"

namespace fleetadm::join {

Status remove_object(const kube::Client& client, const kube::Resource& type, const Json& object,
                     std::vector<install::Change>& changes, kube::Propagation propagation) {
  kube::DeleteOptions how;
  how.propagation = propagation;
  how.uid = uid_of(object);
  const auto removed = client.remove(type, namespace_of(object), name_of(object), how);
  if (!removed && removed.error().category != Category::kNotFound)
    return fail(removed.error().wrap("cannot delete " + type.kind + " " + kube::object_key(object)));
  changes.push_back({type.kind, namespace_of(object), name_of(object), install::Action::kDeleted, type.group});
  return {};
}

}  // namespace fleetadm::join
