// The member of a command whose own connection leads to the cluster that hosts its agent.
#pragma once

#include <string>

#include "commands/framework/command.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

struct MemberSide {
  std::string mode;  // "default" where it is empty
  std::string kubeconfig;
  std::string context;
  std::string ns;    // on the hosting cluster; the usual one where it is empty
  std::string text;  // a kubeconfig, where the others name none; it holds data only

  bool named() const { return !kubeconfig.empty() || !context.empty() || !text.empty(); }
};

inline bool is_hosted_mode(const MemberSide& side) { return side.mode == "hosted"; }
/// The namespace on the hosting cluster.
std::string hosted_namespace(const MemberSide& side);

/// --mode and --hosted-namespace. `mode`: what --mode says of itself.
void bind_hosting(FlagSet& flags, MemberSide& side, const std::string& mode);
/// The same, and the member: --managed-cluster-kubeconfig and --managed-cluster-context.
void bind_member_side(FlagSet& flags, MemberSide& side, const std::string& mode);
/// kUsage where the others are given without the mode, or it lacks the member while that is needed.
Status validate_member_side(const MemberSide& side, bool member_needed);

/// A member that is not hosted in the namespace: kNotFound.
Error not_hosted(const std::string& cluster, const std::string& ns);

/// The command's own client, of the hosting cluster. Before Context::client() was called.
Result<kube::Client> hosting_client(Context& context);

struct HostedSides {
  kube::Client hosting;
  kube::Client member;
  kube::RestConfig member_config;
};
/// Both clients; the member has to be named.
Result<HostedSides> hosted_sides(Context& context, const MemberSide& side);

}  // namespace fleetadm::commands
