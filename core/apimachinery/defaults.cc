#include "core/apimachinery/defaults.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/apimachinery/default_members.h"

namespace fleetadm::apimachinery {
namespace {

void workload(Json& object) {
  Json* spec = member(object, "spec");
  Json* form = spec == nullptr ? nullptr : member(*spec, "template");
  if (form == nullptr) return;
  if (Json* pod = member(*form, "spec")) apply_pod_defaults(*pod);
}

void claim(Json& spec) { set(spec, "volumeMode", "Filesystem"); }

void deployment(Json& object) {
  workload(object);
  Json& spec = object_in(object, "spec");
  set(spec, "replicas", 1);
  set(spec, "revisionHistoryLimit", 10);
  set(spec, "progressDeadlineSeconds", 600);
  Json& strategy = object_in(spec, "strategy");
  if (!strategy.is_object()) strategy = Json::object();
  fill(strategy, "type", "RollingUpdate");
  if (str(strategy, {"type"}) != "RollingUpdate") return;
  set(strategy, "rollingUpdate", Json::object());
  set(strategy["rollingUpdate"], "maxUnavailable", "25%");
  set(strategy["rollingUpdate"], "maxSurge", "25%");
}

void replica_set(Json& object) {
  workload(object);
  set(object_in(object, "spec"), "replicas", 1);
}

void stateful_set(Json& object) {
  workload(object);
  Json& spec = object_in(object, "spec");
  set(spec, "replicas", 1);
  set(spec, "revisionHistoryLimit", 10);
  fill(spec, "podManagementPolicy", "OrderedReady");
  Json& strategy = object_in(spec, "updateStrategy");
  if (!strategy.is_object()) strategy = Json::object();
  fill(strategy, "type", "RollingUpdate");
  if (str(strategy, {"type"}) == "RollingUpdate") {
    set(strategy, "rollingUpdate", Json::object());
    set(strategy["rollingUpdate"], "partition", 0);
  }
  set(spec, "persistentVolumeClaimRetentionPolicy", Json::object());
  fill(spec["persistentVolumeClaimRetentionPolicy"], "whenDeleted", "Retain");
  fill(spec["persistentVolumeClaimRetentionPolicy"], "whenScaled", "Retain");
  each(spec, "volumeClaimTemplates", [](Json& form) {
    fill(form, "apiVersion", "v1");
    fill(form, "kind", "PersistentVolumeClaim");
    if (Json* wanted = member(form, "spec")) claim(*wanted);
    fill(object_in(form, "status"), "phase", "Pending");
  });
}

void daemon_set(Json& object) {
  workload(object);
  Json& spec = object_in(object, "spec");
  set(spec, "revisionHistoryLimit", 10);
  Json& strategy = object_in(spec, "updateStrategy");
  if (!strategy.is_object()) strategy = Json::object();
  fill(strategy, "type", "RollingUpdate");
  if (str(strategy, {"type"}) != "RollingUpdate") return;
  set(strategy, "rollingUpdate", Json::object());
  set(strategy["rollingUpdate"], "maxUnavailable", 1);
  set(strategy["rollingUpdate"], "maxSurge", 0);
}

void job_spec(Json& spec) {
  const bool neither = find(spec, {"completions"}) == nullptr && find(spec, {"parallelism"}) == nullptr;
  if (neither) spec["completions"] = 1;
  set(spec, "parallelism", 1);
  set(spec, "backoffLimit", find(spec, {"backoffLimitPerIndex"}) == nullptr ? 6 : 2147483647);
  set(spec, "completionMode", "NonIndexed");
  set(spec, "suspend", false);
  set(spec, "manualSelector", false);
  set(spec, "podReplacementPolicy", find(spec, {"podFailurePolicy"}) == nullptr ? "TerminatingOrFailed" : "Failed");
  if (Json* policy = member(spec, "podFailurePolicy")) {
    each(*policy, "rules",
         [](Json& rule) { each(rule, "onPodConditions", [](Json& pattern) { fill(pattern, "status", "True"); }); });
  }
}

void cron_job(Json& object) {
  Json& spec = object_in(object, "spec");
  fill(spec, "concurrencyPolicy", "Allow");
  set(spec, "suspend", false);
  set(spec, "successfulJobsHistoryLimit", 3);
  set(spec, "failedJobsHistoryLimit", 1);
  if (Json* form = member(spec, "jobTemplate")) workload(*form);
}

void service(Json& object) {
  Json& spec = object_in(object, "spec");
  fill(spec, "sessionAffinity", "None");
  if (str(spec, {"sessionAffinity"}) == "None") spec.erase("sessionAffinityConfig");
  if (str(spec, {"sessionAffinity"}) == "ClientIP") {
    set(object_in(object_in(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds", 10800);
  }
  fill(spec, "type", "ClusterIP");
  const std::string type = str(spec, {"type"});
  each(spec, "ports", [](Json& port) {
    fill(port, "protocol", "TCP");
    const Json* target = find(port, {"targetPort"});
    if (target == nullptr || *target == 0 || *target == "") port["targetPort"] = num(port, {"port"});
  });
  if (type == "NodePort" || type == "LoadBalancer") fill(spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") set(spec, "allocateLoadBalancerNodePorts", true);
  if (type != "ExternalName") set(spec, "internalTrafficPolicy", "Cluster");
}

void network_policy(Json& object) {
  Json& spec = object_in(object, "spec");
  for (const char* direction : {"ingress", "egress"}) {
    each(spec, direction, [](Json& rule) { each(rule, "ports", [](Json& port) { set(port, "protocol", "TCP"); }); });
  }
  if (!list_at(std::as_const(spec), {"policyTypes"}).empty()) return;
  spec["policyTypes"] = Json::array({"Ingress"});
  if (!list_at(std::as_const(spec), {"egress"}).empty()) spec["policyTypes"].push_back("Egress");
}

void rules_scope(Json& holder, const char* name) {
  each(holder, name, [](Json& rule) { set(rule, "scope", "*"); });
}

void webhooks(Json& object) {
  const bool mutating = str(object, {"kind"}) == "MutatingWebhookConfiguration";
  each(object, "webhooks", [&](Json& hook) {
    set(hook, "failurePolicy", "Fail");
    set(hook, "matchPolicy", "Equivalent");
    set(hook, "namespaceSelector", Json::object());
    set(hook, "objectSelector", Json::object());
    set(hook, "timeoutSeconds", 10);
    if (mutating) set(hook, "reinvocationPolicy", "Never");
    rules_scope(hook, "rules");
    Json* client = member(hook, "clientConfig");
    if (Json* target = client == nullptr ? nullptr : member(*client, "service")) set(*target, "port", 443);
  });
}

void match_resources(Json& holder, const char* name) {
  Json* match = member(holder, name);
  if (match == nullptr) return;
  set(*match, "namespaceSelector", Json::object());
  set(*match, "objectSelector", Json::object());
  set(*match, "matchPolicy", "Equivalent");
  rules_scope(*match, "resourceRules");
  rules_scope(*match, "excludeResourceRules");
}

void admission_policy(Json& object) {
  Json& spec = object_in(object, "spec");
  set(spec, "failurePolicy", "Fail");
  match_resources(spec, "matchConstraints");
}

void binding_subjects(Json& object) {
  each(object, "subjects", [](Json& subject) {
    const std::string kind = str(subject, {"kind"});
    if (kind == "User" || kind == "Group") fill(subject, "apiGroup", "rbac.authorization.k8s.io");
  });
  if (Json* role = member(object, "roleRef")) fill(*role, "apiGroup", "rbac.authorization.k8s.io");
}

void autoscaler(Json& object) {
  Json& spec = object_in(object, "spec");
  set(spec, "minReplicas", 1);
  if (str(object, {"apiVersion"}) != "autoscaling/v2" || !list_at(std::as_const(spec), {"metrics"}).empty()) return;
  spec["metrics"] =
      Json::array({{{"type", "Resource"},
                    {"resource", {{"name", "cpu"}, {"target", {{"type", "Utilization"}, {"averageUtilization", 80}}}}}}});
}

void definition(Json& object) {
  Json& spec = object_in(object, "spec");
  if (Json* names = member(spec, "names")) {
    const std::string kind = str(*names, {"kind"});
    std::string lower = kind;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    fill(*names, "singular", lower);
    if (!kind.empty()) fill(*names, "listKind", kind + "List");
  }
  set(spec, "conversion", {{"strategy", "None"}});
  if (Json* hook = member(spec["conversion"], "webhook")) {
    Json* client = member(*hook, "clientConfig");
    if (Json* target = client == nullptr ? nullptr : member(*client, "service")) set(*target, "port", 443);
  }
}

void persistent_volume(Json& object) {
  Json& spec = object_in(object, "spec");
  fill(spec, "persistentVolumeReclaimPolicy", "Retain");
  set(spec, "volumeMode", "Filesystem");
  if (Json* path = member(spec, "hostPath")) set(*path, "type", "");
  fill(object_in(object, "status"), "phase", "Pending");
}

void limit_range(Json& object) {
  each(object_in(object, "spec"), "limits", [](Json& limit) {
    if (str(limit, {"type"}) != "Container") return;
    const auto inherit = [&](const char* from, const char* to) {
      const Json amounts = object_at(std::as_const(limit), {from});
      for (const auto& [name, amount] : amounts.items()) set(object_in(limit, to), name.c_str(), amount);
    };
    inherit("max", "default");
    inherit("default", "defaultRequest");
    inherit("min", "defaultRequest");
  });
}

using Defaulter = void (*)(Json&);
struct Row {
  std::string_view group, kind;
  Defaulter apply;
};

constexpr Row kRows[] = {
    {"", "Pod",
     [](Json& object) {
       Json& spec = object_in(object, "spec");
       apply_pod_defaults(spec);
       request_limits(spec);
       set(spec, "enableServiceLinks", true);
     }},
    {"", "PodTemplate",
     [](Json& object) {
       if (Json* form = member(object, "template")) apply_pod_defaults(at_or_make(*form, {"spec"}));
     }},
    {"", "ReplicationController",
     [](Json& object) {
       replica_set(object);
       Json& spec = object["spec"];
       const Json labels = object_at(std::as_const(spec), {"template", "metadata", "labels"});
       if (!labels.empty() && object_at(std::as_const(spec), {"selector"}).empty()) spec["selector"] = labels;
     }},
    {"", "Service", service},
    {"", "Secret", [](Json& object) { fill(object, "type", "Opaque"); }},
    {"", "Namespace", [](Json& object) { fill(object_in(object, "status"), "phase", "Active"); }},
    {"", "PersistentVolume", persistent_volume},
    {"", "PersistentVolumeClaim",
     [](Json& object) {
       claim(object_in(object, "spec"));
       fill(object_in(object, "status"), "phase", "Pending");
     }},
    {"", "Endpoints",
     [](Json& object) {
       each(object, "subsets", [](Json& subset) { each(subset, "ports", [](Json& port) { fill(port, "protocol", "TCP"); }); });
     }},
    {"", "LimitRange", limit_range},
    {"apps", "Deployment", deployment},
    {"apps", "ReplicaSet", replica_set},
    {"apps", "StatefulSet", stateful_set},
    {"apps", "DaemonSet", daemon_set},
    {"batch", "Job",
     [](Json& object) {
       workload(object);
       job_spec(object_in(object, "spec"));
     }},
    {"batch", "CronJob", cron_job},
    {"discovery.k8s.io", "EndpointSlice",
     [](Json& object) {
       each(object, "ports", [](Json& port) {
         set(port, "name", "");
         set(port, "protocol", "TCP");
       });
     }},
    {"networking.k8s.io", "NetworkPolicy", network_policy},
    {"rbac.authorization.k8s.io", "RoleBinding", binding_subjects},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", binding_subjects},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", webhooks},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", webhooks},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", admission_policy},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding",
     [](Json& object) { match_resources(object_in(object, "spec"), "matchResources"); }},
    {"apiextensions.k8s.io", "CustomResourceDefinition", definition},
    {"storage.k8s.io", "StorageClass",
     [](Json& object) {
       set(object, "reclaimPolicy", "Delete");
       set(object, "volumeBindingMode", "Immediate");
     }},
    {"scheduling.k8s.io", "PriorityClass", [](Json& object) { set(object, "preemptionPolicy", "PreemptLowerPriority"); }},
    {"autoscaling", "HorizontalPodAutoscaler", autoscaler},
};

}  // namespace

void apply_defaults(Json& object) {
  if (!object.is_object()) return;
  const std::string api_version = str(object, {"apiVersion"});
  const std::string kind = str(object, {"kind"});
  const auto slash = api_version.find('/');
  const std::string group = slash == std::string::npos ? std::string() : api_version.substr(0, slash);
  for (const Row& row : kRows) {
    if (row.group == group && row.kind == kind) row.apply(object);
  }
}

}  // namespace fleetadm::apimachinery
