// The built-in resources (docs/reference/kubernetes-api.md#built-in-resources).
#include <algorithm>
#include <deque>
#include <initializer_list>
#include <sstream>

#include "core/sandbox/model/kind.h"

namespace fleetadm::sandbox {

Json core_event_view(Json event);     // api/event_views.cc
Json events_api_view(Json event);     //
Json events_api_to_core(Json event);  //
Json autoscaler_v1_view(Json hpa);    // api/autoscaler_views.cc
Json autoscaler_from_v1(Json hpa);    //

namespace {

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

const char* const kAllVerbs = "create delete deletecollection get list patch update watch";

/// In what a resource differs from one that is cluster-wide, has every verb and no subresource, and is named by a subdomain.
enum class Trait {
  kNamespaced,
  kCreateOnly,           // reviews: no other verb
  kLabelNames,           // NameRule::kLabel
  kPathNames,            // NameRule::kPath
  kGeneration,           // Kind::generation
  kUnconditionalUpdate,  // Kind::unconditional_update
  kCreateOnUpdate,       // Kind::create_on_update
  kDeleteReturnsObject,  // Kind::delete_returns_object
  kStatus,               // subresource
  kScale,                // subresource
};
using Traits = std::initializer_list<Trait>;

/// Builds one row.
class Row {
 public:
  Row(std::string_view group_version, std::string_view plural, std::string_view kind, Traits traits) {
    using enum Trait;
    const auto slash = group_version.find('/');
    row_.group = slash == std::string_view::npos ? "" : std::string(group_version.substr(0, slash));
    row_.version = std::string(slash == std::string_view::npos ? group_version : group_version.substr(slash + 1));
    row_.plural = plural;
    row_.kind = kind;
    row_.list_kind = std::string(kind) + "List";
    std::transform(kind.begin(), kind.end(), std::back_inserter(row_.singular),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    row_.storage = row_.group + "/" + row_.plural;
    const auto has = [&](Trait trait) { return std::find(traits.begin(), traits.end(), trait) != traits.end(); };
    row_.namespaced = has(kNamespaced);
    row_.generation = has(kGeneration);
    row_.unconditional_update = has(kUnconditionalUpdate);
    row_.create_on_update = has(kCreateOnUpdate);
    row_.delete_returns_object = has(kDeleteReturnsObject);
    row_.name_rule = has(kLabelNames) ? NameRule::kLabel : has(kPathNames) ? NameRule::kPath : NameRule::kSubdomain;
    row_.verbs = words(has(kCreateOnly) ? "create" : kAllVerbs);
    if (has(kScale)) sub("scale", "get patch update", "autoscaling/v1", "Scale");
    if (has(kStatus)) sub("status", "get patch update");
  }
  Row& names(std::string_view list) {
    row_.short_names = words(list);
    return *this;
  }
  Row& in(std::string_view list) {
    row_.categories = words(list);
    return *this;
  }
  Row& fields(std::string_view list) {
    row_.selectable = words(list);
    return *this;
  }
  Row& orphans() {
    row_.orphans_by_default = true;
    return *this;
  }
  Row& sub(std::string_view name, std::string_view verbs, std::string_view group_version = {}, std::string_view kind = {}) {
    Subresource added;
    added.name = name;
    added.verbs = words(verbs);
    if (const auto slash = group_version.find('/'); slash != std::string_view::npos) {
      added.group = group_version.substr(0, slash);
      added.version = group_version.substr(slash + 1);
    }
    added.kind = kind;
    row_.subresources.push_back(std::move(added));
    return *this;
  }
  Kind& row() { return row_; }

 private:
  Kind row_;
};

class Table {
 public:
  /// The reference stays good.
  Row& add(std::string_view group_version, std::string_view plural, std::string_view kind, Traits traits) {
    return rows_.emplace_back(group_version, plural, kind, traits);
  }
  Kind& last() { return rows_.back().row(); }
  std::vector<KindPtr> take() {
    std::vector<KindPtr> out;
    out.reserve(rows_.size());
    for (auto& row : rows_) out.push_back(std::make_shared<const Kind>(std::move(row.row())));
    return out;
  }

 private:
  std::deque<Row> rows_;
};

// In discovery's order of preference.

void add_core_kinds(Table& table) {
  using enum Trait;
  table.add("v1", "bindings", "Binding", {kCreateOnly, kNamespaced});
  table.add("v1", "componentstatuses", "ComponentStatus", {}).names("cs").row().verbs = words("get list");
  table.add("v1", "configmaps", "ConfigMap", {kNamespaced, kUnconditionalUpdate}).names("cm");
  table.add("v1", "endpoints", "Endpoints", {kNamespaced, kUnconditionalUpdate, kCreateOnUpdate}).names("ep");
  table.add("v1", "events", "Event", {kNamespaced, kUnconditionalUpdate, kCreateOnUpdate})
      .names("ev")
      .fields(
          "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion "
          "involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type")
      .row()
      .on_read = core_event_view;
  table.add("v1", "limitranges", "LimitRange", {kNamespaced, kUnconditionalUpdate, kCreateOnUpdate}).names("limits");
  table.add("v1", "namespaces", "Namespace", {kLabelNames, kUnconditionalUpdate, kDeleteReturnsObject, kStatus})
      .names("ns")
      .fields("status.phase")
      .sub("finalize", "update")
      .row()
      .verbs = words("create delete get list patch update watch");
  table.add("v1", "nodes", "Node", {kUnconditionalUpdate, kStatus}).names("no").fields("spec.unschedulable");
  table
      .add("v1", "persistentvolumeclaims", "PersistentVolumeClaim",
           {kNamespaced, kUnconditionalUpdate, kDeleteReturnsObject, kStatus})
      .names("pvc");
  table.add("v1", "persistentvolumes", "PersistentVolume", {kUnconditionalUpdate, kDeleteReturnsObject, kStatus}).names("pv");
  table.add("v1", "pods", "Pod", {kNamespaced, kGeneration, kUnconditionalUpdate, kDeleteReturnsObject, kStatus})
      .names("po")
      .in("all")
      .fields(
          "spec.nodeName spec.host spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork status.phase "
          "status.podIP status.podIPs status.nominatedNodeName")
      .sub("attach", "create get", {}, "PodAttachOptions")
      .sub("binding", "create", "/v1", "Binding")
      .sub("ephemeralcontainers", "get patch update")
      .sub("eviction", "create", "policy/v1", "Eviction")
      .sub("exec", "create get", {}, "PodExecOptions")
      .sub("log", "get")
      .sub("portforward", "create get", {}, "PodPortForwardOptions");
  table.add("v1", "podtemplates", "PodTemplate", {kNamespaced, kGeneration, kUnconditionalUpdate, kDeleteReturnsObject});
  table
      .add("v1", "replicationcontrollers", "ReplicationController",
           {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus, kScale})
      .names("rc")
      .in("all")
      .fields("status.replicas")
      .orphans();
  table.add("v1", "resourcequotas", "ResourceQuota", {kNamespaced, kUnconditionalUpdate, kDeleteReturnsObject, kStatus})
      .names("quota");
  table.add("v1", "secrets", "Secret", {kNamespaced, kUnconditionalUpdate}).fields("type");
  table.add("v1", "serviceaccounts", "ServiceAccount", {kNamespaced, kUnconditionalUpdate, kDeleteReturnsObject})
      .names("sa")
      .sub("token", "create", "authentication.k8s.io/v1", "TokenRequest");
  table
      .add("v1", "services", "Service",
           {kNamespaced, kLabelNames, kUnconditionalUpdate, kCreateOnUpdate, kDeleteReturnsObject, kStatus})
      .names("svc")
      .in("all")
      .fields("spec.clusterIP spec.type");
}

void add_workload_and_review_kinds(Table& table) {
  using enum Trait;
  table.add("apiregistration.k8s.io/v1", "apiservices", "APIService", {kStatus}).in("api-extensions");
  table.add("apps/v1", "controllerrevisions", "ControllerRevision", {kNamespaced, kUnconditionalUpdate});
  table.add("apps/v1", "daemonsets", "DaemonSet", {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus})
      .names("ds")
      .in("all");
  table.add("apps/v1", "deployments", "Deployment", {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus, kScale})
      .names("deploy")
      .in("all");
  table.add("apps/v1", "replicasets", "ReplicaSet", {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus, kScale})
      .names("rs")
      .in("all")
      .fields("status.replicas");
  table.add("apps/v1", "statefulsets", "StatefulSet", {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus, kScale})
      .names("sts")
      .in("all");
  table.add("events.k8s.io/v1", "events", "Event", {kNamespaced, kUnconditionalUpdate, kCreateOnUpdate})
      .names("ev")
      .fields(
          "reason reportingController regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
          "regarding.resourceVersion regarding.fieldPath type");
  table.last().storage = "/events";
  table.last().on_read = events_api_view;
  table.last().on_write = events_api_to_core;
  table.add("authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", {kCreateOnly});
  table.add("authentication.k8s.io/v1", "tokenreviews", "TokenReview", {kCreateOnly});
  table.add("authorization.k8s.io/v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", {kCreateOnly, kNamespaced});
  table.add("authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", {kCreateOnly});
  table.add("authorization.k8s.io/v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", {kCreateOnly});
  table.add("authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", {kCreateOnly});
  table.add("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", {kNamespaced, kUnconditionalUpdate, kStatus})
      .names("hpa")
      .in("all");
  table.add("autoscaling/v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", {kNamespaced, kUnconditionalUpdate, kStatus})
      .names("hpa")
      .in("all");
  table.last().on_read = autoscaler_v1_view;
  table.last().on_write = autoscaler_from_v1;
  table.add("batch/v1", "cronjobs", "CronJob", {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus}).names("cj").in("all");
  table.add("batch/v1", "jobs", "Job", {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus})
      .in("all")
      .fields("status.successful")
      .orphans();
  table
      .add("certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest",
           {kPathNames, kUnconditionalUpdate, kStatus})
      .names("csr")
      .fields("spec.signerName")
      .sub("approval", "get patch update");
}

void add_cluster_kinds(Table& table) {
  using enum Trait;
  table.add("networking.k8s.io/v1", "ingressclasses", "IngressClass", {kGeneration, kUnconditionalUpdate});
  table.add("networking.k8s.io/v1", "ingresses", "Ingress", {kNamespaced, kGeneration, kUnconditionalUpdate, kStatus})
      .names("ing");
  table.add("networking.k8s.io/v1", "ipaddresses", "IPAddress", {kUnconditionalUpdate}).names("ip");
  table.add("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", {kNamespaced, kGeneration, kUnconditionalUpdate})
      .names("netpol");
  table.add("networking.k8s.io/v1", "servicecidrs", "ServiceCIDR", {kUnconditionalUpdate, kDeleteReturnsObject, kStatus});
  table.add("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", {kNamespaced, kGeneration, kStatus}).names("pdb");
  table.add("rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding",
            {kPathNames, kUnconditionalUpdate, kCreateOnUpdate});
  table.add("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", {kPathNames, kUnconditionalUpdate, kCreateOnUpdate});
  table.add("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding",
            {kNamespaced, kPathNames, kUnconditionalUpdate, kCreateOnUpdate});
  table.add("rbac.authorization.k8s.io/v1", "roles", "Role", {kNamespaced, kPathNames, kUnconditionalUpdate, kCreateOnUpdate});
  table.add("storage.k8s.io/v1", "csidrivers", "CSIDriver", {kDeleteReturnsObject});
  table.add("storage.k8s.io/v1", "csinodes", "CSINode", {kDeleteReturnsObject});
  table.add("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", {kNamespaced});
  table.add("storage.k8s.io/v1", "storageclasses", "StorageClass", {kUnconditionalUpdate, kDeleteReturnsObject}).names("sc");
  table.add("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", {kDeleteReturnsObject, kStatus});
  table.add("storage.k8s.io/v1", "volumeattributesclasses", "VolumeAttributesClass", {kUnconditionalUpdate, kDeleteReturnsObject})
      .names("vac");
  table.add("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", {kGeneration})
      .in("api-extensions");
  table.add("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", {kGeneration, kStatus})
      .in("api-extensions");
  table
      .add("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
           {kGeneration})
      .in("api-extensions");
  table.add("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", {kGeneration})
      .in("api-extensions");
  table
      .add("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition",
           {kGeneration, kDeleteReturnsObject, kStatus})
      .names("crd crds")
      .in("api-extensions");
  table.add("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", {kGeneration, kUnconditionalUpdate}).names("pc");
  table.add("coordination.k8s.io/v1", "leases", "Lease", {kNamespaced, kCreateOnUpdate});
  table.add("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", {kCreateOnUpdate});
  table.add("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", {kNamespaced, kGeneration, kUnconditionalUpdate});
  table.add("resource.k8s.io/v1", "deviceclasses", "DeviceClass", {kGeneration, kUnconditionalUpdate, kDeleteReturnsObject});
  table.add("resource.k8s.io/v1", "resourceclaims", "ResourceClaim",
            {kNamespaced, kUnconditionalUpdate, kDeleteReturnsObject, kStatus});
  table.add("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate",
            {kNamespaced, kUnconditionalUpdate, kDeleteReturnsObject});
  table.add("resource.k8s.io/v1", "resourceslices", "ResourceSlice", {kGeneration, kUnconditionalUpdate, kDeleteReturnsObject})
      .fields("spec.nodeName spec.driver");
  table.add("flowcontrol.apiserver.k8s.io/v1", "flowschemas", "FlowSchema", {kGeneration, kUnconditionalUpdate, kStatus});
  table.add("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations", "PriorityLevelConfiguration",
            {kGeneration, kUnconditionalUpdate, kStatus});
}

}  // namespace

const std::vector<KindPtr>& built_in_kinds() {
  static const std::vector<KindPtr> kRows = [] {
    Table table;
    add_core_kinds(table);
    add_workload_and_review_kinds(table);
    add_cluster_kinds(table);
    return table.take();
  }();
  return kRows;
}

}  // namespace fleetadm::sandbox
