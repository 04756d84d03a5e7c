// Whom an agent may act as at its cluster, as the ClusterRole says that the hub sends it
// (docs/reference/gateway.md#impersonation). Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/proxy/rules/caller.h"
#include "kubeclient/base/json.h"

namespace fleetadm::proxy {

/// The ClusterRole at the member, and the binding to the agent's account.
inline constexpr std::string_view kImpersonationRole = "open-cluster-management:fleetadm-agent-proxy";

/// Names as the member knows them (caller_at_member()).
struct Impersonation {
  std::set<std::string> users;
  std::set<std::string> groups;
  bool any_user = false;   // RBAC cannot say "whoever is in one of these groups"
  bool any_group = false;  // there are too many to name

  bool empty() const { return users.empty() && groups.empty() && !any_user && !any_group; }
  void add(const Impersonation& other);
  bool operator==(const Impersonation&) const = default;
};

/// More names than this of a kind are not listed one by one: an object must stay small enough to be stored.
inline constexpr std::size_t kMostNames = 2000;

/// The ClusterRole's rules.
Json impersonation_rules(const Impersonation& who);
/// Of a ClusterRole.
Impersonation read_impersonation(const Json& role);

/// The caller without the groups that may not be used, as the API server would refuse the whole request for one of them. 403: not
/// even the user may.
Result<Caller> limit_caller(Caller at_member, const Impersonation& who);

}  // namespace fleetadm::proxy
