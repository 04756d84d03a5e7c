// Managed clusters whose own API servers a command asks, through the hub's gateway (core/proxy/client).
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "commands/framework/targets.h"

namespace fleetadm::commands {

struct MemberChoice {
  std::vector<std::string> clusters;
  std::string selector;
  bool all = false;
};

/// How long a cluster has to answer what many are asked, unless --cluster-timeout tells.
inline constexpr Duration kClusterTimeout = std::chrono::seconds(10);
Flag& cluster_timeout_flag(FlagSet& flags, Duration* into);
/// kUsage: no time at all.
Status validate_cluster_timeout(Duration timeout);

/// Exactly one of the three, or with `or_all` none, which means all. `selector_flag` is named in errors.
Status validate_members(const MemberChoice& choice, std::string_view selector_flag, bool or_all);
/// Sorted. Named ones that do not exist are `missing`; who may not read clusters is believed.
Result<ClusterTargets> chosen_members(const kube::Client& hub, const MemberChoice& choice);

/// The gateway with the caller's credentials for the hub. A member's path stands behind proxy::member_prefix().
Result<kube::Client> gateway_client(Context& context);
/// The API server of one cluster, which exists, through the gateway.
Result<kube::RestConfig> member_connection(Context& context, const std::string& cluster);
/// -n, else "default": the namespace of the hub's context means nothing on a member.
std::string member_namespace(const GlobalOptions& options);

}  // namespace fleetadm::commands
