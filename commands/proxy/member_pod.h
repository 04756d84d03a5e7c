// A pod of a managed cluster, as the arguments of logs, exec and port-forward name it.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "commands/framework/members.h"
#include "core/proxy/client/forwarding.h"

namespace fleetadm::commands {

struct MemberPod {
  std::string cluster;
  MemberAsker asker;
  std::string container;
};

/// -c, --cluster, which is needed, --sa and --ignore-availability.
void member_pod_flags(FlagSet& flags, MemberPod& pod, std::string help);
/// --container, of what is about one of them.
void container_flag(FlagSet& flags, MemberPod& pod);
/// kUsage: no cluster, or a name that no cluster, pod or workload has.
Status validate_member_pod(const MemberPod& pod, const std::string& name);

/// The pod that "web-0", "pod/web-0" or "deploy/web" names: of a workload or a Service, one that is ready where there is one, and
/// of these the oldest; where there are several, a line says which it is.
Result<std::string> find_pod(Context& context, const kube::Client& member, const std::string& arg);
/// The same, and of a Service the pod's ports in the place of its own; kNotFound for a port that it does not have.
Result<std::string> find_pod(Context& context, const kube::Client& member, const std::string& arg,
                             std::vector<proxy::ForwardedPort>& ports);
/// The path of one of its subresources, in the namespace of -n, else "default".
std::string pod_path(const Context& context, const std::string& pod, std::string_view subresource);

}  // namespace fleetadm::commands
