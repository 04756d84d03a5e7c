// Members that the hub dials: what is on both sides says of them (docs/reference/registration.md#push-members).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/api/kinds.h"
#include "kubeclient/base/json.h"

namespace fleetadm::api {

/// Of the Secrets with members' kubeconfigs on the hub, and of nothing else: no cluster has rights there.
inline constexpr std::string_view kPushNamespace = "open-cluster-management-push";
/// On such a Secret, which has the cluster's name, too; its key is `kubeconfig`.
inline constexpr std::string_view kPushMemberLabel = "fleetadm.io/push-member";
/// On the Secret of a cluster that leaves and keeps its workloads: the hub is asked to end its works there, and has.
inline constexpr std::string_view kWorksLetGo = "fleetadm.io/works-let-go";
inline constexpr std::string_view kLetGoAsked = "asked";
inline constexpr std::string_view kLetGoDone = "done";
/// On the Secret and on the ManagedCluster: the uid of the member's namespace kube-system, which tells clusters apart.
inline constexpr std::string_view kClusterIdAnnotation = "fleetadm.io/cluster-id";
/// The claim with the same value that clusters make of themselves.
inline constexpr std::string_view kClusterIdClaim = "id.k8s.io";

/// On a ManagedCluster: how it is a member.
inline constexpr std::string_view kModeLabel = "fleetadm.io/mode";
inline constexpr std::string_view kPushMode = "push";
/// On one that `unjoin` removes, until nothing of it is left.
inline constexpr std::string_view kLeavingFinalizer = "fleetadm.io/leaving";

/// On the namespace of the hub on the member (with Karmada's names, on the ClusterRoleBinding): under which name, and by which
/// hub (the uid of its namespace kube-system).
inline constexpr std::string_view kPushedAsAnnotation = "fleetadm.io/pushed-as";
inline constexpr std::string_view kPushedByAnnotation = "fleetadm.io/pushed-by";
/// On a ManagedCluster: by which names the hub is on the member; none: by its own.
inline constexpr std::string_view kMemberNamesAnnotation = "fleetadm.io/member-names";
inline constexpr std::string_view kKarmadaNames = "karmada";

/// The account there whose token the hub holds.
inline constexpr std::string_view kPushAccount = "fleetadm-push";
/// On the Secret: the user that works are applied as; none: on a member that joined before there was one, by the second account.
inline constexpr std::string_view kWorksAsAnnotation = "fleetadm.io/works-as";
inline constexpr std::string_view kFormerWorkAccount = "fleetadm-push-work";

/// The namespace of a hub on its push members, by the uid of the hub's namespace kube-system.
inline std::string push_namespace_on_member(std::string_view hub_id) {
  return "fleetadm-push-" + std::string(hub_id.substr(0, 8));
}
/// The user that works are applied as, by that namespace. Its prefix is reserved: the gateway lets nobody of such a name act at
/// members (docs/reference/gateway.md#identities).
inline std::string push_works_user(std::string_view ns_on_member) {
  return "cluster:hub:" + std::string(ns_on_member) + ":works";
}
/// What `karmadactl join` calls the same things (docs/reference/registration.md#karmadas-names): the namespace, which is of all
/// who do so, the account that it makes for callers, and the account, the ClusterRole and its binding of one cluster.
inline constexpr std::string_view kKarmadaNamespace = "karmada-cluster";
inline constexpr std::string_view kKarmadaImpersonator = "karmada-impersonator";
inline std::string karmada_account(std::string_view cluster) { return "karmada-" + std::string(cluster); }
inline std::string karmada_role(std::string_view cluster) { return "karmada-controller-manager:" + karmada_account(cluster); }
/// By which names the hub is on a member.
enum class MemberNames { kOwn, kKarmada };

/// The parts (install.h) of what is there, and of the Secret on the hub.
inline std::string push_part_on_member(std::string_view hub_id) { return "push-" + std::string(hub_id.substr(0, 8)); }
inline constexpr std::string_view kPushPart = "push";
/// What a push member's works say of the hub that they are of (work::WorkAgentOptions::hub_server).
inline std::string push_hub_name(std::string_view hub_id) { return "push:" + std::string(hub_id); }

/// On a ManagedCluster: when somebody asked for it to be connected again at once.
inline constexpr std::string_view kReconnectAnnotation = "fleetadm.io/reconnect-at";

inline MemberNames member_names(const Json& managed_cluster) {
  return annotation_of(managed_cluster, kMemberNamesAnnotation) == kKarmadaNames ? MemberNames::kKarmada : MemberNames::kOwn;
}
inline bool is_push_member(const Json& managed_cluster) { return label_of(managed_cluster, kModeLabel) == kPushMode; }

/// Of a cluster that is not heard of.
inline constexpr std::string_view kUnreachableTaint = "cluster.open-cluster-management.io/unreachable";
/// Whether nothing has been said yet of a push member that is to be accepted. What is said first is mostly that it is accepted
/// and available, at once; until then it counts as unreachable, without the taint.
inline bool awaits_first_report(const Json& managed_cluster) {
  if (!is_push_member(managed_cluster) || !flag(managed_cluster, {"spec", "hubAcceptsClient"})) return false;
  const Json& conditions = list_at(managed_cluster, {"status", "conditions"});
  return std::none_of(conditions.begin(), conditions.end(),
                      [](const Json& condition) { return str(condition, {"type"}) == kConditionHubAccepted; });
}

/// Whether the member answered the last probe. Nothing holds it back: its time tells since when an outage or a recovery lasts.
inline constexpr std::string_view kConditionResponding = "Responding";
/// What /readyz says of a member, beside kConditionAvailable.
inline constexpr std::string_view kConditionReady = "Ready";

}  // namespace fleetadm::api
