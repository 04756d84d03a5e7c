// Members whose agents run on another cluster, the hosting one: what a Secret there says of a member
// (docs/reference/registration.md#hosted-members).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::api {

/// On a Secret with the key `kubeconfig`; its value is the cluster's name on the hub.
inline constexpr std::string_view kHostedMemberLabel = "fleetadm.io/hosted-member";
/// On the same Secret: the bootstrap secrets of this member, separated by commas, where it does not share those of all.
inline constexpr std::string_view kHostedBootstrapAnnotation = "fleetadm.io/bootstrap-secrets";
/// These, of a member's Secret, as they are written.
std::vector<std::string> hosted_bootstraps(const Json& secret);
/// A key of the same Secret: arguments of `agent run` for this member alone, as a JSON list of "--flag=value".
inline constexpr std::string_view kHostedArgsKey = "args";
/// What the Secret with a member's credential is named after the cluster's name.
inline constexpr std::string_view kHostedCredentialSuffix = "-hub-kubeconfig-secret";

/// On each Secret that join makes for a member, with the cluster's name: what goes with the member.
inline constexpr std::string_view kHostedOfLabel = "fleetadm.io/hosted-cluster";

/// Where join puts them, unless it is told otherwise.
inline constexpr std::string_view kHostedNamespace = "open-cluster-management-hosted";
inline constexpr std::string_view kHostedDeployment = "fleetadm-hosted-agents";

/// The names of the Secrets that join makes for a member. A cluster's name has no dot, so that no two clusters share one.
std::string hosted_member_secret(std::string_view cluster);
std::string hosted_bootstrap_secret(std::string_view cluster);
std::string hosted_credential_secret(std::string_view cluster);

/// The flags, without dashes, that kHostedArgsKey may set; all others are those of the process.
const std::vector<std::string_view>& hosted_member_flags();
/// kUsage: it is none of "--flag=value" with such a flag.
Status check_hosted_member_arg(std::string_view arg);

/// On the ServiceAccount of the agent on the member itself: under which name, with which hub, by which namespace of which cluster
/// it is hosted. A cluster is told by the uid of its namespace kube-system.
inline constexpr std::string_view kHostedAsAnnotation = "fleetadm.io/hosted-as";
inline constexpr std::string_view kHostedHubAnnotation = "fleetadm.io/hosted-hub";
inline constexpr std::string_view kHostedByAnnotation = "fleetadm.io/hosted-by";

/// What a hosted agent claims of its cluster: "ID/NAMESPACE" as in kHostedByAnnotation, which join also puts on the member's
/// Secret; of a Secret that was made otherwise, the namespace alone.
inline constexpr std::string_view kHostedByClaim = "hostedby.fleetadm.io";
/// Of a ManagedCluster; empty: its agent runs on the cluster itself, or does not tell.
std::string hosted_by(const Json& cluster);

}  // namespace fleetadm::api
