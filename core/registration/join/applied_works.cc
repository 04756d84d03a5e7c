#include "core/registration/join/applied_works.h"

#include <set>
#include <string>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/join/push_names.h"
#include "core/work/rules/merge.h"
#include "core/work/rules/names.h"
#include "core/work/rules/ownership.h"

namespace fleetadm::join {
namespace {

constexpr int kTries = 5;  // against others who write the same object

Status release(const kube::Client& spoke, const work::AppliedResource& one, const work::Owner& owner) {
  const kube::Resource type = one.kube_resource();
  for (int left = kTries;; --left) {
    const auto live = spoke.find(type, one.ns, one.name);
    if (!live) return fail(live.error().wrap("cannot look at " + type.plural + " " + kube::object_key(one.ns, one.name)));
    if (!*live) return {};
    const Json patch = work::owner_patch(**live, owner, false);
    if (patch.empty()) return {};
    const auto released = spoke.patch(type, one.ns, one.name, kube::PatchType::kMerge, patch);
    if (released || released.error().category == Category::kNotFound) return {};
    if (released.error().category != Category::kConflict || left == 0)
      return fail(released.error().wrap("cannot release " + type.plural + " " + kube::object_key(one.ns, one.name)));
  }
}

}  // namespace

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

Status release_owned(const kube::Client& spoke, const Json& applied_work) {
  const work::Owner owner{name_of(applied_work), uid_of(applied_work)};
  for (const work::AppliedResource& one : work::inventory_of(applied_work)) FLEETADM_CHECK(release(spoke, one, owner));
  return {};
}

Result<std::vector<Json>> works_of_agent(const kube::Client& spoke) {
  const auto applied = spoke.list(api::applied_manifest_works(), "");
  if (!applied && applied.error().category == Category::kNotFound) return std::vector<Json>{};
  if (!applied) return fail(applied.error().wrap("cannot list " + api::applied_manifest_works().qualified()));
  std::vector<Json> works;
  if (list_at(*applied, {"items"}).empty()) return works;
  FLEETADM_TRY(const auto hubs, pushed_by(spoke));
  std::set<std::string> pushed;
  for (const std::string& hub : hubs) pushed.insert(work::hub_hash(api::push_hub_name(hub)));
  for (const Json& one : list_at(*applied, {"items"})) {
    if (!pushed.contains(str(one, {"spec", "hubHash"}))) works.push_back(one);
  }
  return works;
}

}  // namespace fleetadm::join
