// Whom the agent of each cluster may act as: those who may use managed clusters through the gateway, by the hub's own
// ClusterRoleBindings (docs/reference/gateway.md#impersonation). Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/proxy/rules/impersonation.h"
#include "kubeclient/base/json.h"

namespace fleetadm::proxy {

/// In each cluster's namespace.
inline constexpr std::string_view kImpersonationWork = "fleetadm-agent-proxy";

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

/// The ManifestWork that gives the agent its rights.
Json impersonation_work(const std::string& cluster, const Impersonation& who);

}  // namespace fleetadm::proxy
