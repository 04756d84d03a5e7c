#include "core/registration/aws/names.h"

#include <algorithm>

#include "kubeclient/base/md5.h"

namespace fleetadm::registration::aws {
namespace {

constexpr std::string_view kBegin = "arn:aws:eks:";
constexpr std::string_view kCluster = "cluster/";
constexpr std::size_t kAccountDigits = 12;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }
bool is_name(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_word); }

std::string role_arn(const std::string& account, const std::string& role) { return "arn:aws:iam::" + account + ":role/" + role; }

}  // namespace

Result<EksCluster> parse_eks_arn(std::string_view arn) {
  const auto invalid = [arn] {
    return fail(Category::kUsage, "\"" + std::string(arn) + "\" is not the ARN of an EKS cluster",
                "it has the form arn:aws:eks:REGION:ACCOUNT:cluster/NAME, as aws eks describe-cluster prints it");
  };
  if (!arn.starts_with(kBegin)) return invalid();
  const std::string_view rest = arn.substr(kBegin.size());
  const auto region = rest.find(':');
  if (region == std::string_view::npos) return invalid();
  const auto account = rest.find(':', region + 1);
  if (account == std::string_view::npos) return invalid();
  const std::string_view resource = rest.substr(account + 1);
  EksCluster cluster;
  cluster.region = rest.substr(0, region);
  cluster.account = rest.substr(region + 1, account - region - 1);
  if (!resource.starts_with(kCluster)) return invalid();
  cluster.name = resource.substr(kCluster.size());
  if (!is_name(cluster.region) || !is_name(cluster.name) || cluster.account.size() != kAccountDigits ||
      !std::all_of(cluster.account.begin(), cluster.account.end(), is_digit))
    return invalid();
  return cluster;
}

std::string arn_of(const EksCluster& cluster) {
  return std::string(kBegin) + cluster.region + ":" + cluster.account + ":" + std::string(kCluster) + cluster.name;
}

std::string role_suffix(const EksCluster& hub, const EksCluster& member) {
  return md5_hex(hub.account + "#" + hub.name + "#" + member.account + "#" + member.name);
}

std::string hub_role_name(std::string_view suffix) { return "ocm-hub-" + std::string(suffix); }

std::string hub_role_arn(const EksCluster& hub, std::string_view suffix) { return role_arn(hub.account, hub_role_name(suffix)); }

std::string member_role_arn(const EksCluster& member, std::string_view suffix) {
  return role_arn(member.account, "ocm-managed-cluster-" + std::string(suffix));
}

std::string identity_creator_arn(const EksCluster& hub) {
  return role_arn(hub.account, hub.name + "_managed-cluster-identity-creator");
}

Json trust_policy(const EksCluster& hub, const EksCluster& member) {
  const Json tags{{"aws:PrincipalTag/hub_cluster_account_id", hub.account},
                  {"aws:PrincipalTag/hub_cluster_name", hub.name},
                  {"aws:PrincipalTag/managed_cluster_account_id", member.account},
                  {"aws:PrincipalTag/managed_cluster_name", member.name}};
  const Json statement{{"Effect", "Allow"},
                       {"Principal", {{"AWS", member_role_arn(member, role_suffix(hub, member))}}},
                       {"Action", "sts:AssumeRole"},
                       {"Condition", {{"StringEquals", tags}}}};
  return {{"Version", "2012-10-17"}, {"Statement", Json::array({statement})}};
}

Json exec_user(const EksCluster& hub, std::string_view suffix) {
  return {{"exec",
           {{"apiVersion", "client.authentication.k8s.io/v1beta1"},
            {"command", kCommand},
            {"args", Json::array({"--region", hub.region, "eks", "get-token", "--cluster-name", hub.name, "--output", "json",
                                  "--role", hub_role_arn(hub, suffix)})},
            {"interactiveMode", "Never"}}}};
}

}  // namespace fleetadm::registration::aws
