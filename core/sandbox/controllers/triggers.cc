#include "core/sandbox/controllers/triggers.h"

#include "core/sandbox/controllers/role_aggregation.h"

namespace fleetadm::sandbox {
namespace {

const char* const kNamespaces = "/namespaces";
const char* const kDefinitions = "apiextensions.k8s.io/customresourcedefinitions";
const char* const kRequests = "certificates.k8s.io/certificatesigningrequests";
const char* const kClusterRoles = "rbac.authorization.k8s.io/clusterroles";
const char* const kDeployments = "apps/deployments";
const char* const kReplicaSets = "apps/replicasets";
const char* const kJobs = "batch/jobs";
const char* const kCronJobs = "batch/cronjobs";
const char* const kReplicationControllers = "/replicationcontrollers";
const char* const kDaemonSets = "apps/daemonsets";
const char* const kStatefulSets = "apps/statefulsets";
const char* const kBudgets = "policy/poddisruptionbudgets";
const char* const kAdmissionPolicies = "admissionregistration.k8s.io/validatingadmissionpolicies";
const char* const kFlowSchemas = "flowcontrol.apiserver.k8s.io/flowschemas";
const char* const kPriorityLevels = "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations";
const char* const kServices = "/services";
const char* const kEvents = "/events";
const char* const kQuotas = "/resourcequotas";
constexpr auto kQuotaReview = std::chrono::seconds(30);  // of one whose status was written, by admission as a rule

template <void (*sync)(const ControllerContext&, const std::string& ns, const std::string& name)>
void of_object(const ControllerContext& context, const ObjectKey& key) {
  sync(context, key.ns, key.name);
}
template <void (*sync)(const ControllerContext&, const std::string& name)>
void of_cluster_object(const ControllerContext& context, const ObjectKey& key) {
  sync(context, key.name);
}

}  // namespace

Sync controller_of(std::string_view storage) {
  static const std::map<std::string_view, Sync> kControllers = {
      {kNamespaces, of_cluster_object<sync_namespace>},
      {kDefinitions, of_cluster_object<sync_definition>},
      {kRequests, of_cluster_object<sync_signing>},
      {kClusterRoles,
       [](const ControllerContext& context, const ObjectKey&) {
         if (context.aggregation != nullptr) context.aggregation->sync(context);
       }},
      {kDeployments, of_object<sync_deployment>},
      {kReplicaSets, of_object<sync_replica_set>},
      {kReplicationControllers, of_object<sync_replication_controller>},
      {kDaemonSets, of_object<sync_daemon_set>},
      {kStatefulSets, of_object<sync_stateful_set>},
      {kBudgets, of_object<sync_disruption_budget>},
      {kJobs, of_object<sync_job>},
      {kEvents, of_object<sync_event>},
      {kServices, of_object<sync_service>},
      {kQuotas, of_object<sync_resource_quota>},
      {kCronJobs, of_object<sync_cron_job>},
      {kFlowSchemas, of_cluster_object<sync_flow_schema>},
      {kAdmissionPolicies, of_cluster_object<sync_admission_policy>},
  };
  const auto at = kControllers.find(storage);
  return at == kControllers.end() ? nullptr : at->second;
}

const std::map<std::string_view, Triggers::Trigger>& Triggers::table() {
  static const std::map<std::string_view, Trigger> kTable = {
      {kNamespaces, &Triggers::namespace_written},
      {kDefinitions, &Triggers::definition_written},
      {kRequests, &Triggers::itself},
      {kClusterRoles, &Triggers::cluster_role_written},
      {kDeployments, &Triggers::itself},
      {kReplicaSets, &Triggers::replica_set_written},
      {kJobs, &Triggers::job_written},
      {kCronJobs, &Triggers::itself},
      {kReplicationControllers, &Triggers::itself},
      {kDaemonSets, &Triggers::itself},
      {kStatefulSets, &Triggers::itself},
      {kBudgets, &Triggers::itself},
      {kServices, &Triggers::itself},
      {kEvents, &Triggers::event_written},
      {kQuotas, &Triggers::quota_written},
      {kFlowSchemas, &Triggers::itself},
      {kAdmissionPolicies, &Triggers::itself},
      {kPriorityLevels, &Triggers::priority_level_written},
      {"/serviceaccounts", &Triggers::service_account_written},
      {"/configmaps", &Triggers::config_map_written},
      {"/endpoints", &Triggers::endpoints_written},
      {"discovery.k8s.io/endpointslices", &Triggers::slice_written},
      {"apps/controllerrevisions", &Triggers::revision_written},
      {"/nodes", &Triggers::node_written},
      {"/pods", &Triggers::pod_written},
  };
  return kTable;
}

void Triggers::written(const ObjectKey& key, const Json* object) {
  if (object == nullptr) {
    if (ending_.contains(key.ns)) queue_.add({kNamespaces, "", key.ns});
    if (const auto at = ending_kinds_.find(key.storage); at != ending_kinds_.end()) queue_.add({kDefinitions, "", at->second});
  }
  if (!key.ns.empty() && key.storage != kQuotas) add_all(kQuotas, key.ns);
  if (const auto at = table().find(key.storage); at != table().end()) (this->*at->second)(key, object);
}

void Triggers::itself(const ObjectKey& key, const Json*) { queue_.add(key); }

void Triggers::namespace_written(const ObjectKey& key, const Json* object) {
  if (object != nullptr && is_deleting(*object)) {
    ending_.insert(key.name);
  } else {
    ending_.erase(key.name);
  }
  queue_.add(key);
}

void Triggers::definition_written(const ObjectKey& key, const Json* object) {
  if (object != nullptr && is_deleting(*object))
    ending_kinds_[str(*object, {"spec", "group"}) + "/" + str(*object, {"spec", "names", "plural"})] = key.name;
  queue_.add(key);
}

// What every namespace has is made again where it was removed.

void Triggers::service_account_written(const ObjectKey& key, const Json*) {
  if (key.name == "default") queue_.add({kNamespaces, "", key.ns});
}

void Triggers::config_map_written(const ObjectKey& key, const Json*) {
  if (key.name == "kube-root-ca.crt") queue_.add({kNamespaces, "", key.ns});
}

/// A quota is looked at when what it limits changes. Its status is written by admission before the write that is admitted: to
/// count at once would take back what that write is about to use.
void Triggers::quota_written(const ObjectKey& key, const Json* object) {
  if (const auto list = store_.list(kQuotas, key.ns)) {
    for (const auto& item : list->items) {  // quotas may count quotas
      const Json other = item.object->json();
      if (item.name != key.name && find(other, {"spec", "hard", "resourcequotas"}) != nullptr)
        queue_.add({kQuotas, item.ns, item.name});
    }
  }
  if (object == nullptr) return;
  if (object_at(*object, {"spec", "hard"}) != object_at(*object, {"status", "hard"})) {
    queue_.add(key);
  } else {
    queue_.add_after(key, kQuotaReview);
  }
}

void Triggers::priority_level_written(const ObjectKey&, const Json*) { add_all(kFlowSchemas, ""); }

void Triggers::cluster_role_written(const ObjectKey&, const Json*) { queue_.add({kClusterRoles, "", ""}); }

void Triggers::event_written(const ObjectKey& key, const Json* object) {
  if (object != nullptr && queue_.keeps_time) queue_.add(key);
}

void Triggers::endpoints_written(const ObjectKey& key, const Json*) { add_service(key.ns, key.name); }

void Triggers::slice_written(const ObjectKey& key, const Json* object) {
  if (object == nullptr) {
    add_all(kServices, key.ns);
  } else {
    add_service(key.ns, label_of(*object, "kubernetes.io/service-name"));
  }
}

void Triggers::job_written(const ObjectKey& key, const Json* object) {
  queue_.add(key);
  if (object == nullptr) {
    add_all(kCronJobs, key.ns);
  } else {
    add_owner(key.ns, object, "CronJob", kCronJobs);
  }
}

void Triggers::replica_set_written(const ObjectKey& key, const Json* object) {
  queue_.add(key);
  add_controllers(key.ns, object, {{"Deployment", kDeployments}});
}

void Triggers::revision_written(const ObjectKey& key, const Json* object) {
  add_controllers(key.ns, object, {{"DaemonSet", kDaemonSets}, {"StatefulSet", kStatefulSets}});
}

void Triggers::node_written(const ObjectKey&, const Json*) { add_all(kDaemonSets, ""); }

void Triggers::pod_written(const ObjectKey& key, const Json* object) {
  add_controllers(key.ns, object,
                  {{"ReplicaSet", kReplicaSets},
                   {"ReplicationController", kReplicationControllers},
                   {"Job", kJobs},
                   {"DaemonSet", kDaemonSets},
                   {"StatefulSet", kStatefulSets}});
  add_all(kBudgets, key.ns);
  add_all(kServices, key.ns);
}

void Triggers::add_all(const char* storage, const std::string& ns) {
  if (store_.count(storage, ns) == 0) return;
  if (const auto list = store_.list(storage, ns)) {
    for (const auto& item : list->items) queue_.add({storage, item.ns, item.name});
  }
}

void Triggers::add_service(const std::string& ns, const std::string& name) {
  if (store_.get(kServices, ns, name)) queue_.add({kServices, ns, name});
}

void Triggers::add_owner(const std::string& ns, const Json* object, std::string_view kind, const char* storage) {
  if (object == nullptr) return;
  for (const Json& owner : list_at(*object, {"metadata", "ownerReferences"})) {
    if (str(owner, {"kind"}) == kind) queue_.add({storage, ns, str(owner, {"name"})});
  }
}

/// The controllers of an object. Of one that nobody controls, or that is gone, all that there are in its namespace: one may
/// adopt it, or has just let it go.
void Triggers::add_controllers(const std::string& ns, const Json* object,
                               std::initializer_list<std::pair<std::string_view, const char*>> controllers) {
  const bool known = object != nullptr && !controller_uid(*object).empty();
  for (const auto& [kind, storage] : controllers) {
    if (known) {
      add_owner(ns, object, kind, storage);
    } else {
      add_all(storage, ns);
    }
  }
}

}  // namespace fleetadm::sandbox
