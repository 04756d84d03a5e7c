// Whom the agent of each cluster, or the hub where it dials the cluster, may act as: those who may use managed clusters through
// the gateway, by the hub's own ClusterRoleBindings (docs/reference/gateway.md#impersonation). Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/proxy/rules/impersonation.h"
#include "kubeclient/base/json.h"

namespace fleetadm::proxy {

/// In the namespace of each cluster with an agent, and of each that the hub dials.
inline constexpr std::string_view kImpersonationWork = "fleetadm-agent-proxy";
inline constexpr std::string_view kPushImpersonationWork = "fleetadm-push-proxy";

/// That some may use clusters through the gateway.
struct ProxyGrant {
  std::set<std::string> clusters;  // by name; empty: all
  Impersonation who;
};

/// What a ClusterRole says of create, get, … on clusters/proxy; nullopt: nothing.
std::optional<std::set<std::string>> clusters_of_role(const Json& role);
/// The subjects of a ClusterRoleBinding as members know them. Reserved users and groups are left out: they never cross.
Impersonation subjects_of_binding(const Json& binding);

/// Of all ClusterRoles and ClusterRoleBindings. Bindings of namespaces do not count: clusters are in none.
std::vector<ProxyGrant> proxy_grants(const std::vector<Json>& roles, const std::vector<Json>& bindings);
Impersonation impersonation_at(const std::vector<ProxyGrant>& grants, const std::string& cluster);

/// Who acts as callers at a cluster, and the objects that let it.
struct Impersonator {
  std::string work;        // on the hub
  std::string role;        // at the member, as is the binding of that name
  std::string account_ns;  // there, too
  std::string account;
};
Impersonator agent_impersonator();
/// The account whose token the hub has. Each hub that dials a cluster has objects of its own there.
Impersonator push_impersonator(std::string_view hub_id, const Json& managed_cluster);

/// The ManifestWork that gives it its rights.
Json impersonation_work(const std::string& cluster, const Impersonator& impersonator, const Impersonation& who);
/// Whom such a work lets it act as.
Impersonation granted_by_work(const Json& work);

}  // namespace fleetadm::proxy
