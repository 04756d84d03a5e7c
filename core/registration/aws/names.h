// The names by which an EKS cluster registers with its own identity of AWS, as upstream's driver awsirsa has them
// (docs/reference/registration.md#other-ways-to-register). Pure.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::registration::aws {

/// What the ManagedCluster of such a cluster tells.
inline constexpr std::string_view kArnAnnotation = "agent.open-cluster-management.io/managed-cluster-arn";
inline constexpr std::string_view kSuffixAnnotation = "agent.open-cluster-management.io/managed-cluster-iam-role-suffix";
/// On a service account: the IAM role that its pods may assume.
inline constexpr std::string_view kRoleAnnotation = "eks.amazonaws.com/role-arn";
inline constexpr const char* kCommand = "aws";

/// "arn:aws:eks:<region>:<account>:cluster/<name>".
struct EksCluster {
  std::string region;
  std::string account;  // twelve digits
  std::string name;
  bool operator==(const EksCluster&) const = default;
};
/// kUsage for what is none.
Result<EksCluster> parse_eks_arn(std::string_view arn);
std::string arn_of(const EksCluster& cluster);

/// What the two roles of a member of a hub have in common: the MD5 of their accounts and names, in hex.
std::string role_suffix(const EksCluster& hub, const EksCluster& member);
/// "ocm-hub-<suffix>": the role in the hub's account that the hub makes, and that is somebody in the hub's cluster.
std::string hub_role_name(std::string_view suffix);
std::string hub_role_arn(const EksCluster& hub, std::string_view suffix);
/// Of the role in the member's account that its agent has, and that may assume the other one. The member's administrator makes
/// it.
std::string member_role_arn(const EksCluster& member, std::string_view suffix);
/// Of the role in the hub's account that the hub's controllers have, to make the roles and access entries of members.
std::string identity_creator_arn(const EksCluster& hub);

/// Who may assume the role hub_role_name(): the member's role, with tags that name both clusters.
Json trust_policy(const EksCluster& hub, const EksCluster& member);

/// The users[].user of the member's kubeconfig of its hub.
Json exec_user(const EksCluster& hub, std::string_view suffix);

}  // namespace fleetadm::registration::aws
