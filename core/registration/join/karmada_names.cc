#include "core/registration/join/karmada_names.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/api/push_member.h"
#include "core/install/wait_deleted.h"
#include "core/registration/hub/namespace_use.h"
#include "core/registration/hub/objects.h"
#include "core/registration/join/remove_object.h"
#include "kubeclient/discovery/mapper.h"
#include "templates/templates.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;
using install::Action;
using install::Change;

constexpr const char* kAccountOfSecret = "kubernetes.io/service-account.name";

/// The binding comes first.
Result<std::vector<Json>> rendered(const std::string& hub_id, const std::string& cluster) {
  return templates::render("push/karmada.yaml", {{"cluster", cluster}, {"hub", hub_id}});
}

bool is_ours(const Json& object, const std::string& part) { return label_of(object, install::kPartLabel) == part; }

/// Nobody's: of every namespace, of its events, or about to go.
bool is_nobodys(const kube::Resource& type, const Json& object) {
  const bool of_default = type == r::secrets() && annotation_of(object, kAccountOfSecret) == "default";
  return is_deleting(object) || of_default || registration::hub::in_every_namespace(type, object);
}

/// Whether the namespace has, or may have, anything but ours. What cannot be listed counts.
bool has_others(const kube::Client& member, const std::string& part) {
  const auto types = kube::discover(member);
  if (!types || !types->failed_groups.empty()) return true;
  for (const kube::DiscoveredResource& one : types->resources) {
    const bool lists = std::find(one.verbs.begin(), one.verbs.end(), "list") != one.verbs.end();
    if (!one.resource.namespaced || !lists || one.resource.plural == "events") continue;
    const auto objects = registration::hub::list_metadata(member, one.resource, api::kKarmadaNamespace);
    if (!objects) return true;
    if (!*objects) continue;
    for (const Json& object : **objects) {
      if (!is_ours(object, part) && !is_nobodys(one.resource, object)) return true;
    }
  }
  return false;
}

/// Of the shared account.
Result<std::vector<std::pair<kube::Resource, Json>>> impersonator(const kube::Client& member, const std::string& part) {
  std::vector<std::pair<kube::Resource, Json>> ours;
  for (const kube::Resource& type : {r::secrets(), r::service_accounts()}) {
    FLEETADM_TRY(auto found, member.find(type, api::kKarmadaNamespace, api::kKarmadaImpersonator));
    if (found && is_ours(*found, part)) ours.emplace_back(type, std::move(*found));
  }
  return ours;
}

/// It is nobody's member's any more, and as another manager would have made it.
Status leave_to_others(const kube::Client& member, const kube::Resource& type, const Json& object, const std::string& part,
                       std::vector<Change>& changes) {
  const auto leave = [&](Json& now) -> Status {
    if (!is_ours(now, part)) return {};
    erase_at(now, {"metadata", "labels", install::kPartLabel});
    Json owners = Json::array();
    for (const Json& owner : list_at(now, {"metadata", "ownerReferences"})) {
      if (str(owner, {"kind"}) != r::cluster_role_bindings().kind) owners.push_back(owner);
    }
    if (owners.empty()) {
      erase_at(now, {"metadata", "ownerReferences"});
    } else {
      now["metadata"]["ownerReferences"] = std::move(owners);
    }
    return {};
  };
  const auto released = member.modify(type, namespace_of(object), name_of(object), leave);
  if (!released && released.error().category != Category::kNotFound)
    return fail(released.error().wrap("cannot leave " + type.kind + " " + kube::object_key(object) + " to others"));
  changes.push_back({type.kind, namespace_of(object), name_of(object), Action::kConfigured, type.group});
  return {};
}

}  // namespace

Result<std::vector<Json>> karmada_binding(const std::string& hub_id, const std::string& cluster) {
  FLEETADM_TRY(auto objects, rendered(hub_id, cluster));
  objects.resize(1);
  return objects;
}

Result<std::vector<Json>> karmada_objects(const std::string& hub_id, const std::string& cluster, const std::string& owner_uid) {
  FLEETADM_TRY(auto objects, rendered(hub_id, cluster));
  objects.erase(objects.begin());
  for (Json& object : objects) {
    if (owner_uid.empty() || name_of(object) == api::kKarmadaImpersonator) continue;
    object["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", r::cluster_role_bindings().api_version()},
                                                          {"kind", r::cluster_role_bindings().kind},
                                                          {"name", api::karmada_role(cluster)},
                                                          {"uid", owner_uid}}});
  }
  return objects;
}

bool is_shared_with_karmada(const Change& change) {
  const bool of_cluster = change.ns.empty();
  return of_cluster ? change.kind == r::namespaces().kind && change.name == api::kKarmadaNamespace
                    : change.ns == api::kKarmadaNamespace && change.name == api::kKarmadaImpersonator;
}

tl::unexpected<Error> karmada_name_taken(const std::string& cluster) {
  return fail(Category::kConflict,
              "the member is another manager's under the name \"" + cluster + "\": the ClusterRoleBinding " +
                  api::karmada_role(cluster) + " was not made by this hub",
              "choose another name: --cluster-name; or leave out --karmada-names");
}

Status wait_for_departed(const kube::Client& member, const std::string& cluster, const std::string& part, Duration timeout,
                         const std::stop_token& stop) {
  const std::string role = api::karmada_role(cluster);
  FLEETADM_TRY(const auto binding, member.find(r::cluster_role_bindings(), "", role));
  if (binding) return {};
  struct Left {
    kube::Resource type;
    std::string ns;
    std::string name;
  };
  const std::string ns(api::kKarmadaNamespace);
  const std::string account = api::karmada_account(cluster);
  for (const Left& one : {Left{r::cluster_roles(), {}, role}, Left{r::secrets(), ns, account},
                          Left{r::service_accounts(), ns, account}, Left{r::namespaces(), {}, ns}}) {
    FLEETADM_TRY(const auto left, member.find(one.type, one.ns, one.name));
    if (!left || !is_ours(*left, part) || list_at(*left, {"metadata", "ownerReferences"}).empty()) continue;
    FLEETADM_CHECK(install::wait_deleted(member, one.type, *left, timeout, stop));
  }
  return {};
}

Result<std::vector<Change>> leave_karmada_namespace(const kube::Client& member, const std::string& part) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto ns, member.find(r::namespaces(), "", api::kKarmadaNamespace));
  if (!ns || is_deleting(*ns)) return changes;
  const bool ours = is_ours(*ns, part);
  FLEETADM_TRY(const auto shared, impersonator(member, part));
  if (!ours && shared.empty()) return changes;
  const bool others = has_others(member, part);
  if (ours && !others) {  // with all that is in it
    changes.push_back({r::namespaces().kind, {}, name_of(*ns), Action::kDeleted, {}});
    return changes;
  }
  for (const auto& [type, object] : shared)
    FLEETADM_CHECK(others ? leave_to_others(member, type, object, part, changes) : remove_object(member, type, object, changes));
  if (ours) FLEETADM_CHECK(leave_to_others(member, r::namespaces(), *ns, part, changes));
  return changes;
}

}  // namespace fleetadm::join
