#include "core/registration/join/push_former.h"

#include <optional>

#include "core/api/push_member.h"
#include "core/registration/join/remove_object.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

constexpr const char* kInNamespace = "open-cluster-management:fleetadm-push";

std::string role_of(const std::string& ns, const char* which) { return "open-cluster-management:" + ns + which; }

Result<std::optional<Json>> find_of_part(const kube::Client& member, const kube::Resource& type, const std::string& ns,
                                         const std::string& name, const std::string& part) {
  FLEETADM_TRY(auto object, member.find(type, ns, name));
  if (object && label_of(*object, install::kPartLabel) != part) object.reset();
  return object;
}

}  // namespace

Result<FormerPush> find_former_push(const kube::Client& member, const std::string& ns, const std::string& part) {
  FormerPush former;
  const std::string account(api::kFormerWorkAccount);
  FLEETADM_TRY(const auto work, find_of_part(member, r::service_accounts(), ns, account, part));
  former.there = work.has_value();
  if (!former.there) return former;
  FLEETADM_TRY(const auto full, find_of_part(member, r::cluster_role_bindings(), "", role_of(ns, ":work:full"), part));
  former.full_rights = full.has_value();
  return former;
}

Status remove_former_push(const kube::Client& member, const std::string& ns, const std::string& part,
                          const std::function<void(const install::Change&)>& told) {
  struct Object {
    kube::Resource type;
    std::string ns;
    std::string name;
  };
  const std::vector<Object> objects{{r::cluster_roles(), "", role_of(ns, ":work:aggregate")},
                                    {r::cluster_role_bindings(), "", role_of(ns, ":work:aggregate")},
                                    {r::cluster_role_bindings(), "", role_of(ns, ":work:admin")},
                                    {r::cluster_role_bindings(), "", role_of(ns, ":work:full")},
                                    {r::cluster_role_bindings(), "", role_of(ns, ":work")},
                                    {r::cluster_roles(), "", role_of(ns, ":work:full")},
                                    {r::cluster_roles(), "", role_of(ns, ":work")},
                                    {r::role_bindings(), ns, kInNamespace},
                                    {r::roles(), ns, kInNamespace},
                                    {r::service_accounts(), ns, std::string(api::kFormerWorkAccount)}};
  std::vector<install::Change> removed;
  for (const Object& one : objects) {
    FLEETADM_TRY(const auto object, find_of_part(member, one.type, one.ns, one.name, part));
    if (!object) continue;
    FLEETADM_CHECK(remove_object(member, one.type, *object, removed));
    told(removed.back());
  }
  return {};
}

}  // namespace fleetadm::join
