#include "core/proxy/hub/impersonation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"

namespace fleetadm::proxy {
namespace {

constexpr std::string_view kProxyGroup = "proxy.open-cluster-management.io";
constexpr std::string_view kAgentAccount = "fleetadm-agent";
constexpr const char* kRbac = "rbac.authorization.k8s.io";

bool any_of(const Json& rule, std::string_view list, std::initializer_list<std::string_view> words) {
  const auto named = string_list_at(rule, {list});
  return std::any_of(named.begin(), named.end(),
                     [&](const std::string& one) { return std::find(words.begin(), words.end(), one) != words.end(); });
}

bool is_about_proxying(const Json& rule) {
  return any_of(rule, "apiGroups", {kProxyGroup, "*"}) && any_of(rule, "resources", {"clusters/proxy", "*/proxy", "*"}) &&
         !list_at(rule, {"verbs"}).empty();
}

/// A binding that the API server makes for the control plane's own components. Garbage collectors have rights to everything, and
/// nothing to do at members.
bool is_of_control_plane(const Json& binding) {
  return str(binding, {"metadata", "labels", "kubernetes.io/bootstrapping"}) == "rbac-defaults";
}

Impersonation of_caller(const Caller& on_hub) {
  Impersonation who;
  const auto caller = caller_at_member(on_hub);
  if (!caller) return who;
  who.users.insert(caller->name);
  who.groups.insert(caller->groups.begin(), caller->groups.end());
  return who;
}

Impersonation of_account(const std::string& ns, const std::string& name) {
  Caller account;
  account.name = "system:serviceaccount:" + ns + ":" + name;
  account.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns};
  return of_caller(account);
}

Impersonation of_group(const std::string& group) {
  Impersonation who;
  who.any_user = group == "system:authenticated";
  Caller member;
  member.name = "somebody";
  member.groups = {group};
  if (const auto caller = caller_at_member(member); caller && !caller->groups.empty()) {
    who.groups.insert(caller->groups.begin(), caller->groups.end());
    who.any_user = true;
  }
  return who;
}

}  // namespace

std::optional<std::set<std::string>> clusters_of_role(const Json& role) {
  std::optional<std::set<std::string>> clusters;
  for (const Json& rule : list_at(role, {"rules"})) {
    if (!is_about_proxying(rule)) continue;
    const auto names = string_list_at(rule, {"resourceNames"});
    if (names.empty()) return std::set<std::string>{};
    if (!clusters) clusters.emplace();
    clusters->insert(names.begin(), names.end());
  }
  return clusters;
}

Impersonation subjects_of_binding(const Json& binding) {
  Impersonation who;
  for (const Json& subject : list_at(binding, {"subjects"})) {
    const std::string kind = str(subject, {"kind"});
    const std::string name = str(subject, {"name"});
    if (kind == "User") {
      Caller user;
      user.name = name;
      who.add(of_caller(user));
    } else if (kind == "Group") {
      who.add(of_group(name));
    } else if (kind == "ServiceAccount") {
      who.add(of_account(str(subject, {"namespace"}), name));
    }
  }
  return who;
}

std::vector<ProxyGrant> proxy_grants(const std::vector<Json>& roles, const std::vector<Json>& bindings) {
  std::map<std::string, std::set<std::string>> clusters_by_role;
  for (const Json& role : roles) {
    if (auto clusters = clusters_of_role(role)) clusters_by_role[name_of(role)] = std::move(*clusters);
  }
  std::vector<ProxyGrant> grants;
  for (const Json& binding : bindings) {
    if (str(binding, {"roleRef", "kind"}) != "ClusterRole" || is_of_control_plane(binding)) continue;
    const auto role = clusters_by_role.find(str(binding, {"roleRef", "name"}));
    if (role == clusters_by_role.end()) continue;
    Impersonation who = subjects_of_binding(binding);
    if (!who.empty()) grants.push_back({role->second, std::move(who)});
  }
  return grants;
}

Impersonation impersonation_at(const std::vector<ProxyGrant>& grants, const std::string& cluster) {
  Impersonation who;
  for (const ProxyGrant& grant : grants) {
    if (grant.clusters.empty() || grant.clusters.contains(cluster)) who.add(grant.who);
  }
  return who;
}

Impersonator agent_impersonator() {
  return {std::string(kImpersonationWork), std::string(kImpersonationRole), std::string(api::kAgentNamespace),
          std::string(kAgentAccount)};
}

Impersonator push_impersonator(std::string_view hub_id, const Json& managed_cluster) {
  const std::string ns = api::push_namespace_on_member(hub_id);
  Impersonator own{std::string(kPushImpersonationWork), "open-cluster-management:" + ns + ":proxy", ns,
                   std::string(api::kPushAccount)};
  if (api::member_names(managed_cluster) == api::MemberNames::kKarmada) {
    own.account_ns = api::kKarmadaNamespace;
    own.account = api::karmada_account(name_of(managed_cluster));
  }
  return own;
}

Json impersonation_work(const std::string& cluster, const Impersonator& impersonator, const Impersonation& who) {
  Json role{{"apiVersion", std::string(kRbac) + "/v1"},
            {"kind", "ClusterRole"},
            {"metadata", {{"name", impersonator.role}}},
            {"rules", impersonation_rules(who)}};
  Json binding{
      {"apiVersion", std::string(kRbac) + "/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", {{"name", impersonator.role}}},
      {"roleRef", {{"apiGroup", kRbac}, {"kind", "ClusterRole"}, {"name", impersonator.role}}},
      {"subjects",
       Json::array({{{"kind", "ServiceAccount"}, {"name", impersonator.account}, {"namespace", impersonator.account_ns}}})}};
  return {{"apiVersion", api::manifest_works().api_version()},
          {"kind", "ManifestWork"},
          {"metadata",
           {{"name", impersonator.work},
            {"namespace", cluster},
            {"labels", {{std::string(api::kGatewayWorkLabel), "impersonation"}}}}},
          {"spec", {{"workload", {{"manifests", Json::array({std::move(role), std::move(binding)})}}}}}};
}

Impersonation granted_by_work(const Json& work) {
  Impersonation who;
  for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
    if (str(manifest, {"kind"}) == "ClusterRole") who.add(read_impersonation(manifest));
  }
  return who;
}

}  // namespace fleetadm::proxy
