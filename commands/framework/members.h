// Managed clusters whose own API servers a command asks, through the hub's gateway (core/proxy/client).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/command.h"
#include "commands/framework/targets.h"
#include "core/proxy/client/hops.h"

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

/// How members are asked.
struct MemberAsker {
  std::string account;  // a ManagedServiceAccount; empty: as the caller
  bool anyway = false;  // also one that the hub knows to be down
};
/// --sa and --ignore-availability.
void asker_flags(FlagSet& flags, MemberAsker& asker, std::string help = "managed service account of the cluster to act as");
/// kUsage: a name that no account has. None is fine.
Status validate_account_name(const std::string& account);

/// How the members of the hub are reached.
struct MemberWay {
  proxy::Way way = proxy::Way::kGateway;
  kube::RestConfig server;    // a member's path stands behind proxy::member_prefix()
  bool konnectivity = false;  // the gateway serves the add-on cluster-proxy, too
};
/// By our gateway, as the caller, or as that account of the member, whose token the caller can get from the hub.
/// Where there is none, by upstream's cluster-proxy, which needs an account: what it is shown, the member sees. `anonymous`: that
/// is about what everybody may read.
Result<MemberWay> member_way(Context& context, const MemberAsker& asker, bool anonymous = false);
/// The API server of one cluster, which exists.
Result<kube::RestConfig> member_connection(Context& context, const std::string& cluster, const MemberAsker& asker = {});
/// Of whoever is refused on the way to a cluster, or there.
inline constexpr std::string_view kAccessHint = "who may use clusters, and how: fleetadm help cluster-access";
/// The error with the cluster's name; where it is a missing right, the hint says where such rights are described.
Error at_member(const Error& error, const std::string& cluster);
/// -n, else "default": the namespace of the hub's context means nothing on a member.
std::string member_namespace(const GlobalOptions& options);

}  // namespace fleetadm::commands
