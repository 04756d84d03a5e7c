#include "core/registration/hub/acceptance.h"

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/hub/cleanup.h"
#include "core/registration/hub/namespace_use.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/base/log.h"
#include "kubeclient/rest/modify.h"

namespace fleetadm::registration::hub {
namespace {

namespace res = kube::resources;
using controller::Outcome;

constexpr const char* kAcceptanceName = "cluster-acceptance";
constexpr Duration kLookAgain = std::chrono::seconds(5);
constexpr Duration kLookForUse = std::chrono::minutes(5);
constexpr std::string_view kDenied = "HubClusterAdminDenied";

bool tells_figures(const Json& cluster) {
  return !api::is_push_member(cluster) && controller::find_condition(cluster, api::kConditionResponding) != nullptr;
}

}  // namespace

Acceptance decide_acceptance(const std::optional<Json>& cluster) {
  if (!cluster) return Acceptance::kForget;
  if (is_deleting(*cluster)) {
    // An agent that is started anew has to take its works back, too, and reads its ManagedCluster first.
    const bool has_works = has_finalizer(*cluster, kResourceCleanupFinalizer);
    return has_finalizer(*cluster, kApiCleanupFinalizer) && !has_works ? Acceptance::kRelease : Acceptance::kNothing;
  }
  if (flag(*cluster, {"spec", "hubAcceptsClient"})) return Acceptance::kAccept;
  const Json* condition = controller::find_condition(*cluster, api::kConditionHubAccepted);
  if (condition == nullptr) return Acceptance::kNothing;
  // A half-made acceptance (reason Error) is withdrawn as well, not only a complete one.
  return str(*condition, {"reason"}) == kDenied && str(*condition, {"status"}) == "False" ? Acceptance::kNothing
                                                                                          : Acceptance::kDeny;
}

bool set_accepted(Json& cluster, std::string_view status, std::string_view reason, std::string_view message, Instant now) {
  return controller::set_condition(at_or_make(cluster, {"status", "conditions"}), api::kConditionHubAccepted, status, reason,
                                   message, now);
}

Result<Outcome> AcceptanceController::reconcile(const std::string& key, std::stop_token stop) {
  const kube::Client client = tools_.client.with_stop(stop);
  const auto cached = caches_.clusters->get(key);
  std::optional<Json> cluster;
  if (cached) cluster = cached->decode();
  switch (decide_acceptance(cluster)) {
    case Acceptance::kNothing: return Outcome{};
    case Acceptance::kAccept:
      if (accepted_and_settled(*cluster)) return Outcome{};
      // The ClusterDefaulter adds this one to a new cluster at the same moment; its write comes here again.
      if (!has_finalizer(*cluster, kResourceCleanupFinalizer)) return Outcome{};
      break;
    case Acceptance::kForget:
      if (!any_rbac_cached(key)) return Outcome{};
      break;
    default: break;
  }
  // Something is to be written: the server has the last word, the cache may be behind.
  FLEETADM_TRY(cluster, client.find(api::managed_clusters(), {}, key));
  switch (decide_acceptance(cluster)) {
    case Acceptance::kNothing: return Outcome{};
    case Acceptance::kAccept: return accept(client, *cluster, stop);
    case Acceptance::kDeny: return deny(client, *cluster, stop);
    case Acceptance::kRelease:
    case Acceptance::kForget: return withdraw(client, key, cluster, stop);
  }
  return Outcome{};
}

bool AcceptanceController::accepted_and_settled(const Json& cluster) const {
  const std::string name = name_of(cluster);
  const Json* condition = controller::find_condition(cluster, api::kConditionHubAccepted);
  if (condition == nullptr || str(*condition, {"status"}) != "True" || str(*condition, {"reason"}) != "HubClusterAdminAccepted")
    return false;
  if (!has_finalizer(cluster, kApiCleanupFinalizer) ||
      !settled(tools_.labelled(cluster_namespace(name)), caches_.namespaces->get(name)))
    return false;
  // Nothing on a push member speaks to the hub: no identity of such a name gets any rights.
  if (api::is_push_member(cluster)) return true;
  return settled(tools_.labelled(cluster_role(name, true)), caches_.cluster_roles->get(cluster_role_name(name))) &&
         settled(tools_.labelled(cluster_role_binding(name)), caches_.cluster_role_bindings->get(cluster_role_name(name))) &&
         settled(tools_.labelled(registration_binding(name)),
                 caches_.role_bindings->get(kube::object_key(name, registration_binding_name(name)))) &&
         settled(tools_.labelled(work_binding(name)),
                 caches_.role_bindings->get(kube::object_key(name, work_binding_name(name)))) &&
         figures_settled(cluster);
}

bool AcceptanceController::figures_settled(const Json& cluster) const {
  const std::string name = name_of(cluster);
  const auto cached = caches_.role_bindings->get(kube::object_key(name, figures_binding_name(name)));
  return tells_figures(cluster) ? settled(tools_.labelled(figures_binding(name)), cached) : cached == nullptr;
}

Status AcceptanceController::keep_figures(const kube::Client& client, const Json& cluster) const {
  if (api::is_push_member(cluster) || figures_settled(cluster)) return {};
  const std::string name = name_of(cluster);
  if (!tells_figures(cluster)) return remove_labelled(client, res::role_bindings(), name, figures_binding_name(name), name);
  const Json binding = figures_binding(name);
  return tools_.ensure(client, res::role_bindings(), binding, caches_.role_bindings->get(kube::object_key(binding)));
}

bool AcceptanceController::any_rbac_cached(const std::string& name) const {
  return caches_.cluster_roles->get(cluster_role_name(name)) || caches_.cluster_role_bindings->get(cluster_role_name(name)) ||
         caches_.role_bindings->get(kube::object_key(name, registration_binding_name(name))) ||
         caches_.role_bindings->get(kube::object_key(name, work_binding_name(name))) ||
         caches_.role_bindings->get(kube::object_key(name, figures_binding_name(name)));
}

Result<Json> AcceptanceController::grant(const kube::Client& client, Json cluster, const std::stop_token& stop) {
  const std::string name = name_of(cluster);
  const auto ns_cached = caches_.namespaces->get(name);
  FLEETADM_CHECK(tools_.ensure(client, res::namespaces(), cluster_namespace(name), ns_cached));
  // The finalizer is there before the first grant: a cluster without it has none.
  if (!has_finalizer(cluster, kApiCleanupFinalizer)) {
    const auto add_finalizer = [&](Json& object) -> Status {
      if (uid_of(object) != uid_of(cluster) || is_deleting(object))
        return fail(Category::kConflict, "the cluster has changed meanwhile");
      Json& finalizers = at_or_make(object, {"metadata", "finalizers"});
      if (!finalizers.is_array()) finalizers = Json::array();
      if (!has_finalizer(object, kApiCleanupFinalizer)) finalizers.push_back(std::string(kApiCleanupFinalizer));
      return {};
    };
    FLEETADM_TRY(Json stored, kube::modify_known(client, api::managed_clusters(), cluster, add_finalizer));
    cluster = std::move(stored);
  }
  if (api::is_push_member(cluster)) return cluster;
  FLEETADM_CHECK(
      tools_.ensure(client, res::cluster_roles(), cluster_role(name, true), caches_.cluster_roles->get(cluster_role_name(name))));
  FLEETADM_CHECK(tools_.ensure(client, res::cluster_role_bindings(), cluster_role_binding(name),
                               caches_.cluster_role_bindings->get(cluster_role_name(name))));
  for (const Json& binding : {registration_binding(name), work_binding(name)}) {
    FLEETADM_CHECK(tools_.ensure(client, res::role_bindings(), binding, caches_.role_bindings->get(kube::object_key(binding))));
  }
  FLEETADM_CHECK(drivers_.grant(cluster, stop));
  return cluster;
}

Result<Outcome> AcceptanceController::accept(const kube::Client& client, const Json& cluster, const std::stop_token& stop) {
  const std::string name = name_of(cluster);
  if (const std::string why = reserved_name(name, hub_namespace_); !why.empty()) {
    FLEETADM_CHECK(report(client, cluster, "False", "Error", why));
    return Outcome{};
  }
  // In a namespace that goes away nothing can be made; its work binding stays until the agent has cleaned up.
  FLEETADM_TRY(const auto ns, client.find(res::namespaces(), {}, name));
  if (ns && is_deleting(*ns)) {
    FLEETADM_TRY(const bool left, works_left(client, name));
    if (!left) {
      FLEETADM_CHECK(drop_finalizer(client, res::role_bindings(), name, work_binding_name(name), kWorkCleanupFinalizer, {}));
    }
    log::info(1, kAcceptanceName, name + ": its namespace is being deleted; waiting");
    return Outcome{kLookAgain};
  }
  if (ns && label_of(*ns, api::kClusterNameLabel) != name) {
    FLEETADM_TRY(const std::string used, namespace_use(client, name));
    if (!used.empty()) {
      FLEETADM_CHECK(
          report(client, cluster, "False", "Error",
                 "namespace \"" + name + "\" is in use (" + used + "): a cluster of that name would get rights in it"));
      return Outcome{kLookForUse};
    }
  }
  const Result<Json> granted = grant(client, cluster, stop);
  if (!granted) {
    if (!is_transient(granted.error())) FLEETADM_CHECK(report(client, cluster, "False", "Error", granted.error().message));
    return tl::unexpected(granted.error());
  }
  FLEETADM_CHECK(report(client, *granted, "True", "HubClusterAdminAccepted", "Accepted by hub cluster admin"));
  FLEETADM_CHECK(keep_figures(client, *granted));
  return Outcome{};
}

Result<Outcome> AcceptanceController::deny(const kube::Client& client, const Json& cluster, const std::stop_token& stop) {
  const std::string name = name_of(cluster);
  // A name that is refused (reserved) never got anything, and its role names are not its own.
  if (reserved_name(name, hub_namespace_).empty()) {
    FLEETADM_TRY(const auto role, client.find(res::cluster_roles(), {}, cluster_role_name(name)));
    if (role && label_of(*role, api::kClusterNameLabel) == name)
      FLEETADM_CHECK(tools_.ensure(client, res::cluster_roles(), cluster_role(name, false),
                                   caches_.cluster_roles->get(cluster_role_name(name))));
    FLEETADM_CHECK(remove_labelled(client, res::role_bindings(), name, registration_binding_name(name), name));
    FLEETADM_CHECK(remove_labelled(client, res::role_bindings(), name, work_binding_name(name), name));
    FLEETADM_CHECK(remove_labelled(client, res::role_bindings(), name, figures_binding_name(name), name));
    FLEETADM_TRY(const bool left, works_left(client, name));
    if (left) return Outcome{kLookAgain};
    FLEETADM_CHECK(drop_finalizer(client, res::role_bindings(), name, work_binding_name(name), kWorkCleanupFinalizer, {}));
    FLEETADM_CHECK(drivers_.withdraw(cluster, stop));
  }
  FLEETADM_CHECK(report(client, cluster, "False", kDenied, "Denied by hub cluster admin"));
  return Outcome{};
}

Result<Outcome> AcceptanceController::withdraw(const kube::Client& client, const std::string& name,
                                               const std::optional<Json>& cluster, const std::stop_token& stop) {
  if (reserved_name(name, hub_namespace_).empty()) {
    FLEETADM_CHECK(remove_labelled(client, res::cluster_roles(), {}, cluster_role_name(name), name));
    FLEETADM_CHECK(remove_labelled(client, res::cluster_role_bindings(), {}, cluster_role_name(name), name));
    FLEETADM_CHECK(remove_labelled(client, res::role_bindings(), name, registration_binding_name(name), name));
    FLEETADM_CHECK(remove_labelled(client, res::role_bindings(), name, work_binding_name(name), name));
    FLEETADM_CHECK(remove_labelled(client, res::role_bindings(), name, figures_binding_name(name), name));
    // The agent removes the finalizers of its works through the work binding: it stays until the last one is gone.
    if (cluster) {
      FLEETADM_TRY(const bool left, works_left(client, name));
      if (left) return Outcome{deletion_pause(*cluster, tools_.clock->now())};
    } else {
      FLEETADM_TRY(const auto again, clear_abandoned(client, name, tools_.clock->now()));
      if (again) return Outcome{again};
    }
    FLEETADM_CHECK(drop_finalizer(client, res::role_bindings(), name, work_binding_name(name), kWorkCleanupFinalizer, {}));
  }
  if (!cluster) return Outcome{};
  if (reserved_name(name, hub_namespace_).empty()) FLEETADM_CHECK(drivers_.withdraw(*cluster, stop));
  FLEETADM_CHECK(drop_finalizer(client, api::managed_clusters(), {}, name, kApiCleanupFinalizer, uid_of(*cluster)));
  return Outcome{};
}

Status AcceptanceController::report(const kube::Client& client, const Json& cluster, std::string_view status,
                                    std::string_view reason, std::string_view message) {
  bool changed = false;
  const auto stored = kube::modify_known(
      client, api::managed_clusters(), cluster,
      [&](Json& object) -> Status {
        if (uid_of(object) != uid_of(cluster)) return fail(Category::kConflict, "the cluster was made anew meanwhile");
        // Between the decision and this write the person may have changed their mind: decide again.
        const bool accepts = flag(object, {"spec", "hubAcceptsClient"});
        if (accepts != flag(cluster, {"spec", "hubAcceptsClient"}))
          return fail(Category::kConflict, "the decision has changed meanwhile");
        changed = set_accepted(object, status, reason, message, tools_.clock->now());
        return {};
      },
      "status");
  if (!stored) return tl::unexpected(stored.error());
  if (changed) log::info(1, kAcceptanceName, name_of(cluster) + ": " + std::string(reason) + ": " + std::string(message));
  return {};
}

Result<Outcome> SharedRolesController::reconcile(const std::string&, std::stop_token stop) {
  const kube::Client client = tools_.client.with_stop(stop);
  const bool needed = !clusters_->list().empty();
  if (needed) {
    for (const Json& role : shared_roles()) {
      FLEETADM_CHECK(tools_.ensure(client, res::cluster_roles(), role, cluster_roles_->get(name_of(role))));
    }
    return Outcome{};
  }
  bool any = false;
  for (const Json& role : shared_roles()) any = any || cluster_roles_->get(name_of(role)) != nullptr;
  if (!any) return Outcome{};
  // An empty cache is not yet an empty server.
  FLEETADM_TRY(const auto clusters, list_metadata(client, api::managed_clusters(), {}, 1));
  if (!clusters || !clusters->empty()) return Outcome{};
  for (const Json& role : shared_roles()) {
    FLEETADM_CHECK(remove_labelled(client, res::cluster_roles(), {}, name_of(role), ""));
  }
  return Outcome{};
}

}  // namespace fleetadm::registration::hub
