#include "core/registration/hub/acceptance.h"

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/hub/namespace_use.h"
#include "core/registration/hub/rbac.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/log.h"
#include "kubeclient/rest/modify.h"

namespace fleetadm::registration::hub {
namespace {

namespace res = kube::resources;
using controller::Outcome;

constexpr const char* kAcceptanceName = "cluster-acceptance";
constexpr Duration kLookAgain = std::chrono::seconds(5);
constexpr Duration kLookForUse = std::chrono::minutes(5);
constexpr std::size_t kMostAtOnce = 50;  // names in one selector
constexpr std::string_view kAccepted = "HubClusterAdminAccepted";
constexpr std::string_view kAcceptedMessage = "Accepted by hub cluster admin";
constexpr Duration kFirstReport = std::chrono::seconds(3);  // since it was made, which is told in whole seconds
constexpr std::string_view kDenied = "HubClusterAdminDenied";

bool is_accepted(const Json& cluster) {
  const Json* condition = controller::find_condition(cluster, api::kConditionHubAccepted);
  return condition != nullptr && str(*condition, {"status"}) == "True" && str(*condition, {"reason"}) == kAccepted;
}

/// A cluster has nothing before these: the ClusterDefaulter adds them, and its write leads here again.
bool has_cleanup_finalizers(const Json& cluster) {
  return has_finalizer(cluster, kResourceCleanupFinalizer) && has_finalizer(cluster, kApiCleanupFinalizer);
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

std::optional<Duration> first_report_due(const Json& cluster, Instant now) {
  if (!api::awaits_first_report(cluster)) return std::nullopt;
  const auto made = parse_time(str(cluster, {"metadata", "creationTimestamp"}));
  if (!made || now < *made || now - *made >= kFirstReport) return std::nullopt;
  return kFirstReport - (now - *made);
}

Result<bool> accept_at_once(const kube::Client& hub, const std::string& hub_namespace, Json& cluster, Instant now) {
  const std::string name = name_of(cluster);
  if (!first_report_due(cluster, now) || decide_acceptance(cluster) != Acceptance::kAccept) return false;
  if (!has_cleanup_finalizers(cluster) || !reserved_name(name, hub_namespace).empty()) return false;
  FLEETADM_TRY(const auto ns, hub.find(res::namespaces(), {}, name));
  if (!ns || !covers(*ns, cluster_namespace(name))) return false;
  return set_accepted(cluster, "True", kAccepted, kAcceptedMessage, now);
}

Result<Outcome> AcceptanceController::reconcile(const std::string& key, std::stop_token stop) {
  const kube::Client client = tools_.client.with_stop(stop);
  const auto cached = clusters_->get(key);
  std::optional<Json> cluster;
  if (cached) cluster = cached->decode();
  switch (decide_acceptance(cluster)) {
    case Acceptance::kNothing: return Outcome{};
    case Acceptance::kAccept:
      if (!has_cleanup_finalizers(*cluster) || (is_accepted(*cluster) && grants_->complete(*cluster))) return Outcome{};
      break;
    case Acceptance::kForget:
      if (!grants_->any(key)) return Outcome{};
      break;
    default: break;
  }
  // Something is to be written: the server has the last word, the cache may be behind.
  FLEETADM_TRY(cluster, client.find(api::managed_clusters(), {}, key));
  switch (decide_acceptance(cluster)) {
    case Acceptance::kNothing: return Outcome{};
    case Acceptance::kAccept:
      if (!has_cleanup_finalizers(*cluster)) return Outcome{};
      return accept(client, *cluster, stop);
    case Acceptance::kDeny: return deny(client, *cluster, stop);
    case Acceptance::kRelease:
    case Acceptance::kForget: return withdraw(client, key, cluster, stop);
  }
  return Outcome{};
}

Result<Outcome> AcceptanceController::accept(const kube::Client& client, const Json& cluster, const std::stop_token& stop) {
  const std::string name = name_of(cluster);
  if (const std::string why = grants_->refusal(name); !why.empty()) {
    FLEETADM_CHECK(report(client, cluster, "False", "Error", why));
    return Outcome{};
  }
  // In a namespace that goes away nothing can be made; its work binding stays until the agent has cleaned up.
  FLEETADM_TRY(const auto ns, client.find(res::namespaces(), {}, name));
  if (ns && is_deleting(*ns)) {
    FLEETADM_TRY(const bool left, works_left(client, name));
    if (!left) {
      FLEETADM_CHECK(drop_finalizers(client, res::role_bindings(), name, work_binding_name(name), {kWorkCleanupFinalizer}, {}));
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
  if (const Status granted = grants_->give(client, cluster, stop); !granted) {
    if (!is_transient(granted.error())) FLEETADM_CHECK(report(client, cluster, "False", "Error", granted.error().message));
    return tl::unexpected(granted.error());
  }
  if (const auto due = first_report_due(cluster, tools_.clock->now()); due && dials_members_) return Outcome{due};
  FLEETADM_CHECK(report(client, cluster, "True", kAccepted, kAcceptedMessage));
  FLEETADM_CHECK(grants_->keep_figures(client, cluster));
  return Outcome{};
}

Result<Outcome> AcceptanceController::deny(const kube::Client& client, const Json& cluster, const std::stop_token& stop) {
  FLEETADM_TRY(const bool done, grants_->restrict(client, cluster, stop));
  if (!done) return Outcome{kLookAgain};
  FLEETADM_CHECK(report(client, cluster, "False", kDenied, "Denied by hub cluster admin"));
  return Outcome{};
}

Result<Outcome> AcceptanceController::withdraw(const kube::Client& client, const std::string& name,
                                               const std::optional<Json>& cluster, const std::stop_token& stop) {
  FLEETADM_TRY(const auto again, grants_->take_back(client, name, cluster, stop));
  if (again) return Outcome{again};
  if (!cluster) return Outcome{};
  FLEETADM_CHECK(drop_finalizers(client, api::managed_clusters(), {}, name, {kApiCleanupFinalizer}, uid_of(*cluster)));
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

std::vector<std::string> ClusterRolesController::gone() const {
  std::vector<std::string> names;
  for (const auto& role : cluster_roles_->list()) {
    const std::string cluster(cluster_of_role(role->key()));
    if (cluster.empty() || clusters_->get(cluster) != nullptr) continue;
    if (label_of(role->decode(), api::kClusterNameLabel) == cluster) names.push_back(cluster);
  }
  return names;
}

Result<Outcome> ClusterRolesController::reconcile(const std::string&, std::stop_token stop) {
  const kube::Client client = tools_.client.with_stop(stop);
  const bool needed = !clusters_->list().empty();
  bool any = false;
  for (const Json& role : shared_roles()) {
    const auto cached = cluster_roles_->get(name_of(role));
    any = any || cached != nullptr;
    if (needed) FLEETADM_CHECK(tools_.ensure(client, res::cluster_roles(), role, cached));
  }
  std::vector<std::string> of_gone = gone();
  if (of_gone.empty() && (needed || !any)) return Outcome{};
  FLEETADM_CHECK(remove(client, std::move(of_gone), !needed));
  return Outcome{};
}

Status ClusterRolesController::remove(const kube::Client& client, std::vector<std::string> gone, bool all) const {
  // An empty cache is not yet an empty server.
  if (all) {
    FLEETADM_TRY(const auto clusters, list_metadata(client, api::managed_clusters(), {}, 1));
    if (!clusters) return {};
    all = clusters->empty();
  }
  std::set<std::string> roles;
  if (all) {
    for (const Json& role : shared_roles()) roles.insert(name_of(role));
    for (const std::string& cluster : gone) roles.insert(cluster_role_name(cluster));
    return remove_selected(client, res::cluster_roles(), {}, std::string(api::kClusterNameLabel), roles);
  }
  if (gone.size() > kMostAtOnce) gone.resize(kMostAtOnce);  // their removal leads here again
  std::vector<std::string> values;
  for (std::string& cluster : gone) {
    FLEETADM_TRY(const auto live, client.find(api::managed_clusters(), {}, cluster));
    if (live) continue;
    roles.insert(cluster_role_name(cluster));
    values.push_back(std::move(cluster));
  }
  if (values.empty()) return {};
  return remove_selected(client, res::cluster_roles(), {},
                         std::string(api::kClusterNameLabel) + " in (" + joined(values, ",") + ")", roles);
}

}  // namespace fleetadm::registration::hub
