#include "core/registration/join/unjoin.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/install/wait_deleted.h"
#include "core/registration/hub/objects.h"
#include "core/registration/hub/rbac.h"
#include "core/registration/join/applied_works.h"
#include "core/registration/join/blockers.h"
#include "core/registration/join/remove_object.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"
#include "kubeclient/rest/modify.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;
using install::Action;
using install::Change;

constexpr const char* kOrphanFinalizer = "orphan";  // of the garbage collector
constexpr auto kStretch = std::chrono::seconds(3);  // of a wait

// The items of a type that the server may not serve (any more): then there are none.
Result<std::vector<Json>> list_if_served(const kube::Client& client, const kube::Resource& resource, std::string_view ns,
                                         std::string_view labels = {}) {
  kube::ListOptions which;
  which.label_selector = std::string(labels);
  auto found = client.list(resource, ns, which);
  if (!found && found.error().category == Category::kNotFound) return std::vector<Json>{};
  if (!found) return fail(found.error().wrap("cannot list " + resource.qualified()));
  const Json& items = list_at(*found, {"items"});
  return std::vector<Json>(items.begin(), items.end());
}

// For an object whose finalizers only a program that is gone for good would remove.
Status strip_finalizers(const kube::Client& client, const kube::Resource& resource, const Json& object) {
  auto stripped = client.modify(resource, namespace_of(object), name_of(object), [](Json& current) -> Status {
    erase_at(current, {"metadata", "finalizers"});
    return {};
  });
  if (!stripped && stripped.error().category != Category::kNotFound) return fail(stripped.error());
  return {};
}

// What keeps a ManagedCluster that is being deleted, in words.
Error why_cluster_stays(const kube::Client& hub, const DepartureOptions& options) {
  Error error;
  error.category = Category::kTimeout;
  error.message =
      "the ManagedCluster " + options.cluster_name + " is still being deleted after " + format_duration(options.timeout);
  const auto blockers = hub_blockers(hub, options.cluster_name);
  if (!blockers || blockers->empty()) {
    error.hint = "run the command again";
    return error;
  }
  error.message += "; " + first_blockers(*blockers);
  const bool for_agent = std::any_of(blockers->begin(), blockers->end(), [](const Blocker& one) {
    return one.waits_for.starts_with("the agent of ") || one.waits_for.starts_with("its pre-delete hooks");
  });
  if (for_agent && !options.force) {
    error.hint = "bring the cluster's agent back, or give up what it applied: --force";
  } else if (blockers->front().kind == api::managed_clusters().kind) {
    error.hint = "see whether the hub controllers run (namespace " + std::string(api::kHubNamespace) + "): fleetadm doctor";
  } else {
    error.hint = "see " + blockers->front().kind + " " + kube::object_key(blockers->front().ns, blockers->front().name) +
                 "; the command can be run again";
  }
  return error;
}

// What only the cluster's agent would finish. Hooks of add-ons may make works while their add-on goes, so this is done again and
// again.
Status let_go(const kube::Client& hub, const std::string& cluster, std::vector<Change>& changes) {
  for (const kube::Resource* type : {&api::managed_cluster_addons(), &api::manifest_works()}) {
    FLEETADM_TRY(const auto items, list_if_served(hub, *type, cluster));
    for (const Json& item : items) {
      const bool told_before = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
        return change.kind == type->kind && change.ns == cluster && change.name == name_of(item);
      });
      std::vector<Change> now;
      FLEETADM_CHECK(remove_object(hub, *type, item, now));
      FLEETADM_CHECK(strip_finalizers(hub, *type, item));
      if (!told_before) changes.insert(changes.end(), now.begin(), now.end());
    }
  }
  return {};
}

using WaitUntilGone = std::function<Status(const Json& cluster, Duration timeout)>;

// In stretches, so that what blocks is told while it is waited for.
Status wait_for_departure(const kube::Client& hub, const Json& cluster, const DepartureOptions& options,
                          const WaitUntilGone& wait_until_gone, std::vector<Change>& changes) {
  using Steady = std::chrono::steady_clock;
  const auto deadline = Steady::now() + options.timeout;
  while (true) {
    if (options.force) FLEETADM_CHECK(let_go(hub, options.cluster_name, changes));
    const Duration left = std::max<Duration>(deadline - Steady::now(), Duration::zero());
    const Status gone = wait_until_gone(cluster, std::min<Duration>(left, kStretch));
    if (gone) return {};
    if (gone.error().category != Category::kTimeout)
      return fail(gone.error().wrap("the ManagedCluster " + options.cluster_name + " is still being deleted"));
    if (left <= kStretch) return fail(why_cluster_stays(hub, options));
    if (const auto blockers = hub_blockers(hub, options.cluster_name); blockers && !blockers->empty() && options.told)
      options.told(first_blockers(*blockers));
  }
}

Status delete_cluster(const kube::Client& hub, const Json& cluster, const DepartureOptions& options,
                      const WaitUntilGone& wait_until_gone, std::vector<Change>& changes) {
  if (options.told) options.told("deleting the ManagedCluster " + options.cluster_name + " and what was distributed to it");
  FLEETADM_CHECK(remove_object(hub, api::managed_clusters(), cluster, changes));
  if (hub.gate().dry_run != kube::DryRun::kNone) return {};
  return wait_for_departure(hub, cluster, options, wait_until_gone, changes);
}

/// Nothing but our own finalizer keeps it.
bool is_held(const Json& cluster) {
  return string_list_at(cluster, {"metadata", "finalizers"}) == std::vector<std::string>{std::string(api::kLeavingFinalizer)};
}

Status wait_until_held(const kube::Client& hub, const Json& cluster, Duration timeout, const std::stop_token& stop) {
  const auto held = [&](const std::optional<Json>& now) -> Result<bool> {
    return !now || uid_of(*now) != uid_of(cluster) || is_held(*now);
  };
  return kube::wait_for(hub, api::managed_clusters(), "", name_of(cluster), held, timeout, stop).map([](const auto&) {});
}

/// One that is being deleted takes no further finalizer: it goes as it would have gone.
Status hold_cluster(const kube::Client& hub, const Json& cluster) {
  if (is_deleting(cluster) || has_finalizer(cluster, api::kLeavingFinalizer)) return {};
  const auto hold = [&](Json& object) -> Status {
    if (uid_of(object) != uid_of(cluster)) return fail(Category::kConflict, "the ManagedCluster was replaced meanwhile");
    if (is_deleting(object) || has_finalizer(object, api::kLeavingFinalizer)) return {};
    Json& finalizers = at_or_make(object, {"metadata", "finalizers"});
    if (!finalizers.is_array()) finalizers = Json::array();
    finalizers.push_back(std::string(api::kLeavingFinalizer));
    return {};
  };
  return kube::modify_known(hub, api::managed_clusters(), cluster, hold).map([](const Json&) {});
}

// A namespace that was there before the cluster joined, whatever it holds: it loses the label that the hub gave it, and stays.
Status release_namespace(const kube::Client& hub, const Json& ns, std::vector<Change>& changes) {
  FLEETADM_TRY([[maybe_unused]] const Json released, hub.modify(r::namespaces(), "", name_of(ns), [](Json& object) -> Status {
    erase_at(object, {"metadata", "labels", api::kClusterNameLabel});
    return {};
  }));
  changes.push_back({"Namespace", "", name_of(ns), Action::kConfigured});
  return {};
}

Status delete_namespace(const kube::Client& hub, const DepartureOptions& options, std::vector<Change>& changes) {
  FLEETADM_TRY(const auto ns, hub.find(r::namespaces(), "", options.cluster_name));
  if (!ns) return {};
  // Another kind of namespace that happens to have the cluster's name is not ours to delete.
  if (label_of(*ns, api::kClusterNameLabel) != options.cluster_name) return {};
  if (annotation_of(*ns, registration::hub::kNamespaceMadeForAnnotation) != options.cluster_name)
    return release_namespace(hub, *ns, changes);
  FLEETADM_TRY(const auto works, list_if_served(hub, api::manifest_works(), options.cluster_name));
  // With the cluster its works go. A dry run leaves both where they are.
  const bool works_go = hub.gate().dry_run != kube::DryRun::kNone && (options.left_hub || !changes.empty());
  if (!works.empty() && !works_go) {
    return fail(Category::kConflict, "namespace " + options.cluster_name + " on the hub still holds ManifestWorks",
                "the cluster is gone, and its agent with it: delete them (fleetadm work delete), or pass --keep-namespace");
  }
  if (options.told) options.told("deleting the namespace " + options.cluster_name + " on the hub");
  return remove_object(hub, r::namespaces(), *ns, changes);
}

// What the hub has of a cluster that is gone.
Status clear_up(const kube::Client& hub, const DepartureOptions& options, std::vector<Change>& changes) {
  if (!options.keep_namespace) FLEETADM_CHECK(delete_namespace(hub, options, changes));
  const std::string label = std::string(api::kClusterNameLabel) + "=" + options.cluster_name;
  FLEETADM_TRY(const auto requests, list_if_served(hub, r::certificate_signing_requests(), "", label));
  for (const Json& request : requests) FLEETADM_CHECK(remove_object(hub, r::certificate_signing_requests(), request, changes));
  return {};
}

// A type stays while objects of it stay: they are the user's, not the agent's.
Result<bool> keep_type_in_use(const kube::Client& spoke, const kube::Resource& resource, const Json& object) {
  if (resource.kind != "CustomResourceDefinition") return false;
  const Json& versions = list_at(object, {"spec", "versions"});
  if (versions.empty()) return false;
  const kube::Resource type{str(object, {"spec", "group"}), str(versions.front(), {"name"}),
                            str(object, {"spec", "names", "plural"}), str(object, {"spec", "names", "kind"}),
                            str(object, {"spec", "scope"}) == "Namespaced"};
  FLEETADM_TRY(const auto left, list_if_served(spoke, type, ""));
  return !left.empty();
}

Status works_left(const kube::Client& spoke, const std::vector<Json>& applied, const DepartureOptions& options) {
  if (applied.empty() || options.force) return {};
  if (options.left_hub && spoke.gate().dry_run != kube::DryRun::kNone) return {};
  return fail(
      Category::kConflict,
      std::to_string(applied.size()) + " works are still applied on this cluster (first: " + name_of(applied.front()) + ")",
      "take the cluster out on the hub too, so that they are removed: fleetadm unjoin --cluster-name " + options.cluster_name +
          " --hub-context CONTEXT; or remove them with everything they applied: --force");
}

Status remove_applied_works(const kube::Client& spoke, const DepartureOptions& options, std::vector<Change>& changes) {
  FLEETADM_TRY(const auto applied, works_of_agent(spoke));
  if (applied.empty() || !options.force) return works_left(spoke, applied, options);
  // The agent would only make them again, so it goes first, with its pods.
  FLEETADM_TRY(const auto deployment, spoke.find(r::deployments(), api::kAgentNamespace, api::kAgentDeployment));
  if (deployment && label_of(*deployment, install::kPartLabel) == install::kAgentPart) {
    FLEETADM_CHECK(remove_object(spoke, r::deployments(), *deployment, changes, kube::Propagation::kForeground));
    if (spoke.gate().dry_run == kube::DryRun::kNone) {
      FLEETADM_CHECK(install::wait_deleted(spoke, r::deployments(), *deployment, options.timeout, options.stop));
    }
  }
  for (const Json& work : applied) {
    FLEETADM_CHECK(remove_applied_work(spoke, work, options));
    changes.push_back(
        {api::applied_manifest_works().kind, "", name_of(work), Action::kDeleted, api::applied_manifest_works().group});
  }
  return {};
}

}  // namespace

Result<std::vector<Change>> take_works_back(const kube::Client& hub, const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", options.cluster_name));
  if (!cluster) return changes;
  FLEETADM_CHECK(hold_cluster(hub, *cluster));
  const auto wait = [&](const Json& one, Duration timeout) { return wait_until_held(hub, one, timeout, options.stop); };
  FLEETADM_CHECK(delete_cluster(hub, *cluster, options, wait, changes));
  return changes;
}

Result<bool> works_were_taken_back(const kube::Client& hub, const std::string& cluster_name) {
  FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", cluster_name));
  return cluster && is_deleting(*cluster) && is_held(*cluster);
}

Result<std::vector<Change>> forget_on_hub(const kube::Client& hub, const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", options.cluster_name));
  if (cluster && is_deleting(*cluster)) {
    FLEETADM_CHECK(registration::hub::drop_finalizers(hub, api::managed_clusters(), {}, options.cluster_name,
                                                      {api::kLeavingFinalizer}, uid_of(*cluster)));
    const auto wait = [&](const Json& one, Duration timeout) {
      return install::wait_deleted(hub, api::managed_clusters(), one, timeout, options.stop);
    };
    if (hub.gate().dry_run == kube::DryRun::kNone) FLEETADM_CHECK(wait_for_departure(hub, *cluster, options, wait, changes));
  }
  FLEETADM_CHECK(clear_up(hub, options, changes));
  return changes;
}

Result<std::vector<Change>> leave_on_hub(const kube::Client& hub, const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", options.cluster_name));
  const auto wait = [&](const Json& one, Duration timeout) {
    return install::wait_deleted(hub, api::managed_clusters(), one, timeout, options.stop);
  };
  if (cluster) FLEETADM_CHECK(delete_cluster(hub, *cluster, options, wait, changes));
  FLEETADM_CHECK(clear_up(hub, options, changes));
  return changes;
}

Status wait_for_namespace(const kube::Client& hub, const DepartureOptions& options) {
  FLEETADM_TRY(const auto ns, hub.find(r::namespaces(), "", options.cluster_name));
  if (!ns || !is_deleting(*ns) || label_of(*ns, api::kClusterNameLabel) != options.cluster_name) return {};
  if (Status gone = install::wait_deleted(hub, r::namespaces(), *ns, options.timeout, options.stop); !gone) {
    return fail(gone.error().wrap("the namespace " + options.cluster_name + " is still being deleted"));
  }
  return {};
}

Result<bool> known_on_hub(const kube::Client& hub, const std::string& cluster_name) {
  FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", cluster_name));
  if (cluster) return true;
  FLEETADM_TRY(const auto ns, hub.find(r::namespaces(), "", cluster_name));
  if (ns && label_of(*ns, api::kClusterNameLabel) == cluster_name) return true;
  const std::string label = std::string(api::kClusterNameLabel) + "=" + cluster_name;
  FLEETADM_TRY(const auto requests, list_if_served(hub, r::certificate_signing_requests(), "", label));
  return !requests.empty();
}

Result<std::set<std::string>> works_of_hub(const kube::Client& hub, const std::string& cluster_name) {
  std::set<std::string> names;
  for (const std::string_view label : {api::kAddonNameLabel, api::kGatewayWorkLabel}) {
    FLEETADM_TRY(const auto works, list_if_served(hub, api::manifest_works(), cluster_name, std::string(label)));
    for (const Json& work : works) names.insert(name_of(work));
  }
  return names;
}

Status remove_applied_work(const kube::Client& spoke, const Json& applied_work, const DepartureOptions& options) {
  const kube::Resource& type = api::applied_manifest_works();
  const bool keep = options.orphan && !options.hub_works.contains(str(applied_work, {"spec", "manifestWorkName"}));
  FLEETADM_CHECK(keep ? release_owned(spoke, applied_work) : remove_owned(spoke, applied_work));
  std::vector<Change> told_by_callers;
  FLEETADM_CHECK(remove_object(spoke, type, applied_work, told_by_callers,
                               keep ? kube::Propagation::kOrphan : kube::Propagation::kBackground));
  if (spoke.gate().dry_run != kube::DryRun::kNone) return {};
  const auto stripped = spoke.modify(type, "", name_of(applied_work), [&](Json& object) -> Status {
    if (uid_of(object) != uid_of(applied_work)) return {};
    const bool collector = keep && has_finalizer(object, kOrphanFinalizer);
    erase_at(object, {"metadata", "finalizers"});
    if (collector) at_or_make(object, {"metadata", "finalizers"}) = Json::array({kOrphanFinalizer});
    return {};
  });
  if (!stripped && stripped.error().category != Category::kNotFound) return fail(stripped.error());
  if (!keep) return {};
  if (Status gone = install::wait_deleted(spoke, type, applied_work, options.timeout, options.stop); !gone)
    return fail(
        gone.error().wrap("what work " + str(applied_work, {"spec", "manifestWorkName"}) + " applied is still being released"));
  // Whoever ended may have been about a request.
  return release_owned(spoke, applied_work);
}

Result<std::vector<std::string>> applied_work_names(const kube::Client& spoke) {
  FLEETADM_TRY(const auto applied, works_of_agent(spoke));
  std::vector<std::string> names;
  for (const Json& one : applied) names.push_back(str(one, {"spec", "manifestWorkName"}, name_of(one)));
  std::sort(names.begin(), names.end());
  return names;
}

Result<LeftBehind> left_behind(const kube::Client& hub, const std::string& cluster_name) {
  LeftBehind left;
  for (const auto& [type, names] :
       {std::pair{&api::manifest_works(), &left.works}, {&api::managed_cluster_addons(), &left.addons}}) {
    FLEETADM_TRY(const auto items, list_if_served(hub, *type, cluster_name));
    for (const Json& item : items) names->push_back(name_of(item));
    std::sort(names->begin(), names->end());
  }
  return left;
}

Status check_no_applied_works(const kube::Client& spoke, const DepartureOptions& options) {
  FLEETADM_TRY(const auto applied, works_of_agent(spoke));
  return works_left(spoke, applied, options);
}

Result<std::vector<Change>> leave_on_spoke(const kube::Client& spoke, const DepartureOptions& options) {
  std::vector<Change> changes;
  FLEETADM_CHECK(remove_applied_works(spoke, options, changes));
  install::Options how;
  how.part = install::kAgentPart;
  how.with_namespaces = true;
  how.timeout = options.timeout;
  how.stop = options.stop;
  how.told = [&](const Change& change) {
    if (options.told) options.told(change.kind + " " + change.name);
  };
  how.keep = [&](const kube::Resource& resource, const Json& object) { return keep_type_in_use(spoke, resource, object); };
  FLEETADM_TRY(auto removed, install::remove_part(spoke, how));
  changes.insert(changes.end(), removed.begin(), removed.end());
  // Where the namespace was there before us it stays, and with it the credential that the agent made itself.
  FLEETADM_TRY(const auto credential, spoke.find(r::secrets(), api::kAgentNamespace, api::kHubKubeconfigSecret));
  if (credential) FLEETADM_CHECK(remove_object(spoke, r::secrets(), *credential, changes));
  return changes;
}

Result<std::string> joined_as(const kube::Client& spoke) {
  FLEETADM_TRY(const auto secret, spoke.find(r::secrets(), api::kAgentNamespace, api::kHubKubeconfigSecret));
  if (!secret) return std::string();
  FLEETADM_TRY(std::string name, base64_decode(str(*secret, {"data", "cluster-name"})));
  // Whoever can write this secret must not choose what is deleted on the hub beyond a cluster's name.
  if (!name.empty() && !is_dns_label(name)) {
    return fail(
        Category::kInvalid,
        "the secret " + std::string(api::kHubKubeconfigSecret) + " names the cluster \"" + name + "\", which is not a DNS label",
        "it was changed by someone; delete it and run the command again with --cluster-name");
  }
  return name;
}

}  // namespace fleetadm::join
