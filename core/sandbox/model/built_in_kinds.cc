// The built-in resources (docs/reference/kubernetes-api.md#built-in-resources).
#include <algorithm>
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

/// Builds one row. Traits: n namespaced, g generation, u unconditional update, c created by PUT, o DELETE answers the object,
/// l names are labels, p names are path segments, s status subresource, x scale subresource, 1 create only.
class Row {
 public:
  Row(std::string_view group_version, std::string_view plural, std::string_view kind, std::string_view traits) {
    const auto slash = group_version.find('/');
    row_.group = slash == std::string_view::npos ? "" : std::string(group_version.substr(0, slash));
    row_.version = std::string(slash == std::string_view::npos ? group_version : group_version.substr(slash + 1));
    row_.plural = plural;
    row_.kind = kind;
    row_.list_kind = std::string(kind) + "List";
    std::transform(kind.begin(), kind.end(), std::back_inserter(row_.singular),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    row_.storage = row_.group + "/" + row_.plural;
    const auto has = [&](char trait) { return traits.find(trait) != std::string_view::npos; };
    row_.namespaced = has('n');
    row_.generation = has('g');
    row_.unconditional_update = has('u');
    row_.create_on_update = has('c');
    row_.delete_returns_object = has('o');
    row_.name_rule = has('l') ? NameRule::kLabel : has('p') ? NameRule::kPath : NameRule::kSubdomain;
    row_.verbs = words(has('1') ? "create" : kAllVerbs);
    if (has('x')) sub("scale", "get patch update", "autoscaling/v1", "Scale");
    if (has('s')) sub("status", "get patch update");
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

}  // namespace

std::vector<KindPtr> built_in_kinds() {
  std::vector<Row> rows;
  const auto add = [&rows](std::string_view group_version, std::string_view plural, std::string_view kind,
                           std::string_view traits) -> Row& { return rows.emplace_back(group_version, plural, kind, traits); };
  rows.reserve(90);

  add("v1", "bindings", "Binding", "n1");
  add("v1", "componentstatuses", "ComponentStatus", "").names("cs").row().verbs = words("get list");
  add("v1", "configmaps", "ConfigMap", "nu").names("cm");
  add("v1", "endpoints", "Endpoints", "nuc").names("ep");
  add("v1", "events", "Event", "nuc")
      .names("ev")
      .fields(
          "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion "
          "involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type")
      .row()
      .on_read = core_event_view;
  add("v1", "limitranges", "LimitRange", "nuc").names("limits");
  add("v1", "namespaces", "Namespace", "uols").names("ns").fields("status.phase").sub("finalize", "update").row().verbs =
      words("create delete get list patch update watch");
  add("v1", "nodes", "Node", "us").names("no").fields("spec.unschedulable");
  add("v1", "persistentvolumeclaims", "PersistentVolumeClaim", "nuos").names("pvc");
  add("v1", "persistentvolumes", "PersistentVolume", "uos").names("pv");
  add("v1", "pods", "Pod", "nuosg")
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
  add("v1", "podtemplates", "PodTemplate", "nuog");
  add("v1", "replicationcontrollers", "ReplicationController", "nugsx").names("rc").in("all").fields("status.replicas").orphans();
  add("v1", "resourcequotas", "ResourceQuota", "nuos").names("quota");
  add("v1", "secrets", "Secret", "nu").fields("type");
  add("v1", "serviceaccounts", "ServiceAccount", "nuo")
      .names("sa")
      .sub("token", "create", "authentication.k8s.io/v1", "TokenRequest");
  add("v1", "services", "Service", "nuclos").names("svc").in("all").fields("spec.clusterIP spec.type");

  add("apiregistration.k8s.io/v1", "apiservices", "APIService", "s").in("api-extensions");
  add("apps/v1", "controllerrevisions", "ControllerRevision", "nu");
  add("apps/v1", "daemonsets", "DaemonSet", "nugs").names("ds").in("all");
  add("apps/v1", "deployments", "Deployment", "nugsx").names("deploy").in("all");
  add("apps/v1", "replicasets", "ReplicaSet", "nugsx").names("rs").in("all").fields("status.replicas");
  add("apps/v1", "statefulsets", "StatefulSet", "nugsx").names("sts").in("all");
  add("events.k8s.io/v1", "events", "Event", "nuc")
      .names("ev")
      .fields(
          "reason reportingController regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
          "regarding.resourceVersion regarding.fieldPath type");
  rows.back().row().storage = "/events";
  rows.back().row().on_read = events_api_view;
  rows.back().row().on_write = events_api_to_core;
  add("authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", "1");
  add("authentication.k8s.io/v1", "tokenreviews", "TokenReview", "1");
  add("authorization.k8s.io/v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", "n1");
  add("authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "1");
  add("authorization.k8s.io/v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", "1");
  add("authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", "1");
  add("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "nus").names("hpa").in("all");
  add("autoscaling/v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "nus").names("hpa").in("all");
  rows.back().row().on_read = autoscaler_v1_view;
  rows.back().row().on_write = autoscaler_from_v1;
  add("batch/v1", "cronjobs", "CronJob", "nugs").names("cj").in("all");
  add("batch/v1", "jobs", "Job", "nugs").in("all").fields("status.successful").orphans();
  add("certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest", "ups")
      .names("csr")
      .fields("spec.signerName")
      .sub("approval", "get patch update");
  add("networking.k8s.io/v1", "ingressclasses", "IngressClass", "ug");
  add("networking.k8s.io/v1", "ingresses", "Ingress", "nugs").names("ing");
  add("networking.k8s.io/v1", "ipaddresses", "IPAddress", "u").names("ip");
  add("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", "nug").names("netpol");
  add("networking.k8s.io/v1", "servicecidrs", "ServiceCIDR", "uos");
  add("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", "ngs").names("pdb");
  add("rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", "ucp");
  add("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", "ucp");
  add("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", "nucp");
  add("rbac.authorization.k8s.io/v1", "roles", "Role", "nucp");
  add("storage.k8s.io/v1", "csidrivers", "CSIDriver", "o");
  add("storage.k8s.io/v1", "csinodes", "CSINode", "o");
  add("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", "n");
  add("storage.k8s.io/v1", "storageclasses", "StorageClass", "uo").names("sc");
  add("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", "os");
  add("storage.k8s.io/v1", "volumeattributesclasses", "VolumeAttributesClass", "uo").names("vac");
  add("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "g")
      .in("api-extensions");
  add("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", "gs").in("api-extensions");
  add("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "g")
      .in("api-extensions");
  add("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "g")
      .in("api-extensions");
  add("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", "gos")
      .names("crd crds")
      .in("api-extensions");
  add("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", "ug").names("pc");
  add("coordination.k8s.io/v1", "leases", "Lease", "nc");
  add("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", "c");
  add("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", "nug");
  add("resource.k8s.io/v1", "deviceclasses", "DeviceClass", "ugo");
  add("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", "nuos");
  add("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate", "nuo");
  add("resource.k8s.io/v1", "resourceslices", "ResourceSlice", "ugo").fields("spec.nodeName spec.driver");
  add("flowcontrol.apiserver.k8s.io/v1", "flowschemas", "FlowSchema", "ugs");
  add("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", "ugs");

  std::vector<KindPtr> out;
  out.reserve(rows.size());
  for (auto& row : rows) out.push_back(std::make_shared<const Kind>(std::move(row.row())));
  return out;
}

}  // namespace fleetadm::sandbox
