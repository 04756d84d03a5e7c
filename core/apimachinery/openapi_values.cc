// The fields that take only certain values (facts of Kubernetes' API types 1.35).
#include <algorithm>
#include <array>
#include <tuple>

#include "core/apimachinery/openapi_texts.h"

namespace fleetadm::apimachinery {
namespace {

struct FieldValues {
  std::string_view message, field, values;
};

constexpr std::string_view kSignals =
    "SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|"
    "SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|"
    "SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|"
    "SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|"
    "SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|"
    "SIGXFSZ";

// Sorted by message and field.
constexpr std::array kValues = {
    FieldValues{"admissionregistration/v1.MatchResources", "matchPolicy", "Equivalent|Exact"},
    FieldValues{"admissionregistration/v1.MutatingWebhook", "failurePolicy", "Fail|Ignore"},
    FieldValues{"admissionregistration/v1.MutatingWebhook", "matchPolicy", "Equivalent|Exact"},
    FieldValues{"admissionregistration/v1.MutatingWebhook", "reinvocationPolicy", "IfNeeded|Never"},
    FieldValues{"admissionregistration/v1.MutatingWebhook", "sideEffects", "None|NoneOnDryRun|Some|Unknown"},
    FieldValues{"admissionregistration/v1.NamedRuleWithOperations", "operations", "*|CONNECT|CREATE|DELETE|UPDATE"},
    FieldValues{"admissionregistration/v1.NamedRuleWithOperations", "scope", "*|Cluster|Namespaced"},
    FieldValues{"admissionregistration/v1.Rule", "scope", "*|Cluster|Namespaced"},
    FieldValues{"admissionregistration/v1.RuleWithOperations", "operations", "*|CONNECT|CREATE|DELETE|UPDATE"},
    FieldValues{"admissionregistration/v1.RuleWithOperations", "scope", "*|Cluster|Namespaced"},
    FieldValues{"admissionregistration/v1.ValidatingAdmissionPolicyBindingSpec", "validationActions", "Audit|Deny|Warn"},
    FieldValues{"admissionregistration/v1.ValidatingAdmissionPolicySpec", "failurePolicy", "Fail|Ignore"},
    FieldValues{"admissionregistration/v1.ValidatingWebhook", "failurePolicy", "Fail|Ignore"},
    FieldValues{"admissionregistration/v1.ValidatingWebhook", "matchPolicy", "Equivalent|Exact"},
    FieldValues{"admissionregistration/v1.ValidatingWebhook", "sideEffects", "None|NoneOnDryRun|Some|Unknown"},
    FieldValues{"apps/v1.DaemonSetUpdateStrategy", "type", "OnDelete|RollingUpdate"},
    FieldValues{"apps/v1.DeploymentStrategy", "type", "Recreate|RollingUpdate"},
    FieldValues{"apps/v1.StatefulSetSpec", "podManagementPolicy", "OrderedReady|Parallel"},
    FieldValues{"apps/v1.StatefulSetUpdateStrategy", "type", "OnDelete|RollingUpdate"},
    FieldValues{"autoscaling/v1.MetricSpec", "type", "ContainerResource|External|Object|Pods|Resource"},
    FieldValues{"autoscaling/v1.MetricStatus", "type", "ContainerResource|External|Object|Pods|Resource"},
    FieldValues{"batch/v1.CronJobSpec", "concurrencyPolicy", "Allow|Forbid|Replace"},
    FieldValues{"batch/v1.JobSpec", "completionMode", "Indexed|NonIndexed"},
    FieldValues{"batch/v1.JobSpec", "podReplacementPolicy", "Failed|TerminatingOrFailed"},
    FieldValues{"batch/v1.PodFailurePolicyOnExitCodesRequirement", "operator", "In|NotIn"},
    FieldValues{"batch/v1.PodFailurePolicyRule", "action", "Count|FailIndex|FailJob|Ignore"},
    FieldValues{"certificates/v1.CertificateSigningRequestSpec", "usages",
                "any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|decipher only|digital "
                "signature|email protection|encipher only|ipsec end system|ipsec tunnel|ipsec user|key agreement|key "
                "encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|server auth|signing|timestamping"},
    FieldValues{"core/v1.AppArmorProfile", "type", "Localhost|RuntimeDefault|Unconfined"},
    FieldValues{"core/v1.AzureDiskVolumeSource", "cachingMode", "None|ReadOnly|ReadWrite"},
    FieldValues{"core/v1.AzureDiskVolumeSource", "kind", "Dedicated|Managed|Shared"},
    FieldValues{"core/v1.Container", "imagePullPolicy", "Always|IfNotPresent|Never"},
    FieldValues{"core/v1.Container", "terminationMessagePolicy", "FallbackToLogsOnError|File"},
    FieldValues{"core/v1.ContainerPort", "protocol", "SCTP|TCP|UDP"},
    FieldValues{"core/v1.ContainerStatus", "stopSignal", kSignals},
    FieldValues{"core/v1.EndpointPort", "protocol", "SCTP|TCP|UDP"},
    FieldValues{"core/v1.EphemeralContainer", "imagePullPolicy", "Always|IfNotPresent|Never"},
    FieldValues{"core/v1.EphemeralContainer", "terminationMessagePolicy", "FallbackToLogsOnError|File"},
    FieldValues{"core/v1.HTTPGetAction", "scheme", "HTTP|HTTPS"},
    FieldValues{"core/v1.HostPathVolumeSource", "type",
                "|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket"},
    FieldValues{"core/v1.ImageVolumeSource", "pullPolicy", "Always|IfNotPresent|Never"},
    FieldValues{"core/v1.Lifecycle", "stopSignal", kSignals},
    FieldValues{"core/v1.ModifyVolumeStatus", "status", "InProgress|Infeasible|Pending"},
    FieldValues{"core/v1.NamespaceStatus", "phase", "Active|Terminating"},
    FieldValues{"core/v1.NodeSelectorRequirement", "operator", "DoesNotExist|Exists|Gt|In|Lt|NotIn"},
    FieldValues{"core/v1.NodeStatus", "phase", "Pending|Running|Terminated"},
    FieldValues{"core/v1.PersistentVolumeClaimSpec", "accessModes", "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"},
    FieldValues{"core/v1.PersistentVolumeClaimSpec", "volumeMode", "Block|Filesystem"},
    FieldValues{"core/v1.PersistentVolumeClaimStatus", "accessModes",
                "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"},
    FieldValues{
        "core/v1.PersistentVolumeClaimStatus", "allocatedResourceStatuses",
        "ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|NodeResizePending"},
    FieldValues{"core/v1.PersistentVolumeClaimStatus", "phase", "Bound|Lost|Pending"},
    FieldValues{"core/v1.PersistentVolumeSpec", "accessModes", "ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod"},
    FieldValues{"core/v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy", "Delete|Recycle|Retain"},
    FieldValues{"core/v1.PersistentVolumeSpec", "volumeMode", "Block|Filesystem"},
    FieldValues{"core/v1.PersistentVolumeStatus", "phase", "Available|Bound|Failed|Pending|Released"},
    FieldValues{"core/v1.PodSecurityContext", "fsGroupChangePolicy", "Always|OnRootMismatch"},
    FieldValues{"core/v1.PodSecurityContext", "supplementalGroupsPolicy", "Merge|Strict"},
    FieldValues{"core/v1.PodSpec", "dnsPolicy", "ClusterFirst|ClusterFirstWithHostNet|Default|None"},
    FieldValues{"core/v1.PodSpec", "preemptionPolicy", "Never|PreemptLowerPriority"},
    FieldValues{"core/v1.PodSpec", "restartPolicy", "Always|Never|OnFailure"},
    FieldValues{"core/v1.PodStatus", "phase", "Failed|Pending|Running|Succeeded|Unknown"},
    FieldValues{"core/v1.PodStatus", "qosClass", "BestEffort|Burstable|Guaranteed"},
    FieldValues{"core/v1.PortStatus", "protocol", "SCTP|TCP|UDP"},
    FieldValues{
        "core/v1.ResourceQuotaSpec", "scopes",
        "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"},
    FieldValues{"core/v1.ScopedResourceSelectorRequirement", "operator", "DoesNotExist|Exists|In|NotIn"},
    FieldValues{
        "core/v1.ScopedResourceSelectorRequirement", "scopeName",
        "BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"},
    FieldValues{"core/v1.SeccompProfile", "type", "Localhost|RuntimeDefault|Unconfined"},
    FieldValues{"core/v1.SecurityContext", "procMount", "Default|Unmasked"},
    FieldValues{"core/v1.ServicePort", "protocol", "SCTP|TCP|UDP"},
    FieldValues{"core/v1.ServiceSpec", "externalTrafficPolicy", "Cluster|Local"},
    FieldValues{"core/v1.ServiceSpec", "internalTrafficPolicy", "Cluster|Local"},
    FieldValues{"core/v1.ServiceSpec", "ipFamilies", "|IPv4|IPv6"},
    FieldValues{"core/v1.ServiceSpec", "ipFamilyPolicy", "PreferDualStack|RequireDualStack|SingleStack"},
    FieldValues{"core/v1.ServiceSpec", "sessionAffinity", "ClientIP|None"},
    FieldValues{"core/v1.ServiceSpec", "type", "ClusterIP|ExternalName|LoadBalancer|NodePort"},
    FieldValues{"core/v1.Taint", "effect", "NoExecute|NoSchedule|PreferNoSchedule"},
    FieldValues{"core/v1.Toleration", "effect", "NoExecute|NoSchedule|PreferNoSchedule"},
    FieldValues{"core/v1.Toleration", "operator", "Equal|Exists|Gt|Lt"},
    FieldValues{"core/v1.TopologySpreadConstraint", "nodeAffinityPolicy", "Honor|Ignore"},
    FieldValues{"core/v1.TopologySpreadConstraint", "nodeTaintsPolicy", "Honor|Ignore"},
    FieldValues{"core/v1.TopologySpreadConstraint", "whenUnsatisfiable", "DoNotSchedule|ScheduleAnyway"},
    FieldValues{"core/v1.VolumeMount", "mountPropagation", "Bidirectional|HostToContainer|None"},
    FieldValues{"discovery/v1.EndpointPort", "protocol", "SCTP|TCP|UDP"},
    FieldValues{"discovery/v1.EndpointSlice", "addressType", "FQDN|IPv4|IPv6"},
    FieldValues{"networking/v1.HTTPIngressPath", "pathType", "Exact|ImplementationSpecific|Prefix"},
    FieldValues{"networking/v1.IngressPortStatus", "protocol", "SCTP|TCP|UDP"},
    FieldValues{"networking/v1.NetworkPolicyPort", "protocol", "SCTP|TCP|UDP"},
    FieldValues{"networking/v1.NetworkPolicySpec", "policyTypes", "Egress|Ingress"},
    FieldValues{"policy/v1.PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy", "AlwaysAllow|IfHealthyBudget"},
    FieldValues{"resource/v1.DeviceAllocationConfiguration", "source", "FromClaim|FromClass"},
    FieldValues{"resource/v1.DeviceSubRequest", "allocationMode", "All|ExactCount"},
    FieldValues{"resource/v1.DeviceTaint", "effect", "NoExecute|NoSchedule|None"},
    FieldValues{"resource/v1.DeviceToleration", "effect", "NoExecute|NoSchedule|None"},
    FieldValues{"resource/v1.DeviceToleration", "operator", "Equal|Exists"},
    FieldValues{"resource/v1.ExactDeviceRequest", "allocationMode", "All|ExactCount"},
    FieldValues{"scheduling/v1.PriorityClass", "preemptionPolicy", "Never|PreemptLowerPriority"},
    FieldValues{"storage/v1.StorageClass", "reclaimPolicy", "Delete|Recycle|Retain"},
    FieldValues{"storage/v1.StorageClass", "volumeBindingMode", "Immediate|WaitForFirstConsumer"},
};

}  // namespace

std::string_view values_of(std::string_view message, std::string_view field) {
  const auto at =
      std::lower_bound(kValues.begin(), kValues.end(), std::tie(message, field),
                       [](const FieldValues& one, const auto& wanted) { return std::tie(one.message, one.field) < wanted; });
  return at != kValues.end() && at->message == message && at->field == field ? at->values : std::string_view();
}

}  // namespace fleetadm::apimachinery
