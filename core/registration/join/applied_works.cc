#include "core/registration/join/applied_works.h"

#include "core/work/rules/ownership.h"

namespace fleetadm::join {

Status remove_owned(const kube::Client& spoke, const Json& applied_work) {
  const work::Owner owner{name_of(applied_work), uid_of(applied_work)};
  for (const work::AppliedResource& one : work::inventory_of(applied_work)) {
    const kube::Resource type = one.kube_resource();
    const auto live = spoke.find(type, one.ns, one.name);
    if (!live) return fail(live.error().wrap("cannot look at " + type.plural + " " + kube::object_key(one.ns, one.name)));
    if (work::removal_of(*live, one.uid, owner) != work::Removal::kDelete) continue;
    kube::DeleteOptions how;
    how.propagation = kube::Propagation::kBackground;
    how.uid = uid_of(**live);
    const auto removed = spoke.remove(type, one.ns, one.name, how);
    const bool gone =
        removed || removed.error().category == Category::kNotFound || removed.error().category == Category::kConflict;
    if (!gone) return fail(removed.error().wrap("cannot delete " + type.plural + " " + kube::object_key(one.ns, one.name)));
  }
  return {};
}

}  // namespace fleetadm::join
