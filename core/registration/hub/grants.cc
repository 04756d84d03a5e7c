#include "core/registration/hub/grants.h"

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"
#include "core/registration/hub/cleanup.h"
#include "core/registration/hub/rbac.h"

namespace fleetadm::registration::hub {
namespace {

namespace res = kube::resources;

bool tells_figures(const Json& cluster) {
  return !api::is_push_member(cluster) && controller::find_condition(cluster, api::kConditionResponding) != nullptr;
}

}  // namespace

std::string Grants::refusal(const std::string& name) const { return reserved_name(name, hub_namespace_); }

bool Grants::complete(const Json& cluster) const {
  const std::string name = name_of(cluster);
  if (!settled(tools_.labelled(cluster_namespace(name)), caches_.namespaces->get(name))) return false;
  // Nothing on a push member speaks to the hub: no identity of such a name gets any rights.
  if (api::is_push_member(cluster)) return true;
  return settled(tools_.labelled(cluster_role(name, true)), caches_.cluster_roles->get(cluster_role_name(name))) &&
         settled(tools_.labelled(cluster_role_binding(name)), caches_.cluster_role_bindings->get(cluster_role_name(name))) &&
         settled(tools_.labelled(registration_binding(name)),
                 caches_.role_bindings->get(kube::object_key(name, registration_binding_name(name)))) &&
         settled(tools_.labelled(work_binding(name)),
                 caches_.role_bindings->get(kube::object_key(name, work_binding_name(name)))) &&
         figures_complete(cluster);
}

bool Grants::figures_complete(const Json& cluster) const {
  const std::string name = name_of(cluster);
  const auto cached = caches_.role_bindings->get(kube::object_key(name, figures_binding_name(name)));
  return tells_figures(cluster) ? settled(tools_.labelled(figures_binding(name)), cached) : cached == nullptr;
}

bool Grants::any(const std::string& name) const {
  return caches_.cluster_role_bindings->get(cluster_role_name(name)) ||
         caches_.role_bindings->get(kube::object_key(name, registration_binding_name(name))) ||
         caches_.role_bindings->get(kube::object_key(name, work_binding_name(name))) ||
         caches_.role_bindings->get(kube::object_key(name, figures_binding_name(name)));
}

Status Grants::give(const kube::Client& client, const Json& cluster, const std::stop_token& stop) const {
  const std::string name = name_of(cluster);
  const auto ns_cached = caches_.namespaces->get(name);
  FLEETADM_CHECK(tools_.ensure(client, res::namespaces(), cluster_namespace(name), ns_cached));
  if (api::is_push_member(cluster)) return {};
  FLEETADM_CHECK(
      tools_.ensure(client, res::cluster_roles(), cluster_role(name, true), caches_.cluster_roles->get(cluster_role_name(name))));
  FLEETADM_CHECK(tools_.ensure(client, res::cluster_role_bindings(), cluster_role_binding(name),
                               caches_.cluster_role_bindings->get(cluster_role_name(name))));
  for (const Json& binding : {registration_binding(name), work_binding(name)}) {
    FLEETADM_CHECK(tools_.ensure(client, res::role_bindings(), binding, caches_.role_bindings->get(kube::object_key(binding))));
  }
  return drivers_.grant(cluster, stop);
}

Status Grants::keep_figures(const kube::Client& client, const Json& cluster) const {
  if (api::is_push_member(cluster) || figures_complete(cluster)) return {};
  const std::string name = name_of(cluster);
  if (!tells_figures(cluster)) return remove_labelled(client, res::role_bindings(), name, figures_binding_name(name), name);
  const Json binding = figures_binding(name);
  return tools_.ensure(client, res::role_bindings(), binding, caches_.role_bindings->get(kube::object_key(binding)));
}

Status Grants::remove_bindings(const kube::Client& client, const std::string& name) const {
  const std::string without_addons = std::string(api::kClusterNameLabel) + "=" + name + ",!" + std::string(api::kAddonNameLabel);
  return remove_selected(client, res::role_bindings(), name, without_addons,
                         {registration_binding_name(name), work_binding_name(name), figures_binding_name(name)});
}

Result<bool> Grants::restrict(const kube::Client& client, const Json& cluster, const std::stop_token& stop) const {
  const std::string name = name_of(cluster);
  // A name that is refused never got anything, and its role names are not its own.
  if (!refusal(name).empty()) return true;
  FLEETADM_TRY(const auto role, client.find(res::cluster_roles(), {}, cluster_role_name(name)));
  if (role && label_of(*role, api::kClusterNameLabel) == name)
    FLEETADM_CHECK(tools_.ensure(client, res::cluster_roles(), cluster_role(name, false),
                                 caches_.cluster_roles->get(cluster_role_name(name))));
  FLEETADM_CHECK(remove_bindings(client, name));
  FLEETADM_TRY(const bool left, works_left(client, name));
  if (left) return false;
  FLEETADM_CHECK(drop_finalizers(client, res::role_bindings(), name, work_binding_name(name), {kWorkCleanupFinalizer}, {}));
  FLEETADM_CHECK(drivers_.withdraw(cluster, stop));
  return true;
}

Result<std::optional<Duration>> Grants::take_back(const kube::Client& client, const std::string& name,
                                                  const std::optional<Json>& cluster, const std::stop_token& stop) const {
  if (!refusal(name).empty()) return std::optional<Duration>{};
  FLEETADM_CHECK(remove_labelled(client, res::cluster_role_bindings(), {}, cluster_role_name(name), name));
  FLEETADM_CHECK(remove_bindings(client, name));
  // The agent removes the finalizers of its works through the work binding: it stays until the last one is gone.
  if (cluster) {
    FLEETADM_TRY(const bool left, works_left(client, name));
    if (left) return std::optional(deletion_pause(*cluster, tools_.clock->now()));
  } else {
    FLEETADM_TRY(const auto again, clear_abandoned(client, name, tools_.clock->now()));
    if (again) return again;
  }
  FLEETADM_CHECK(drop_finalizers(client, res::role_bindings(), name, work_binding_name(name), {kWorkCleanupFinalizer}, {}));
  if (cluster) FLEETADM_CHECK(drivers_.withdraw(*cluster, stop));
  return std::optional<Duration>{};
}

}  // namespace fleetadm::registration::hub
