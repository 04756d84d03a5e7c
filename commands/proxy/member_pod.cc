#include "commands/proxy/member_pod.h"

#include <utility>

#include "commands/framework/grammar.h"
#include "commands/framework/members.h"
#include "core/proxy/client/gateway_access.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {

void member_pod_flags(FlagSet& flags, MemberPod& pod, std::string help) {
  cluster_flag(flags, &pod.cluster, std::move(help)).required = true;
  asker_flags(flags, pod.asker);
}

void container_flag(FlagSet& flags, MemberPod& pod) {
  flags.text(&pod.container, "container", "container of the pod (the pod's first, or its default one)").value_name = "NAME";
}

Status validate_member_pod(const MemberPod& pod, const std::string& name) {
  if (pod.cluster.empty()) return fail(Category::kUsage, "no cluster given", "name it with --cluster");
  FLEETADM_CHECK(proxy::member_prefix(pod.cluster));
  FLEETADM_CHECK(validate_account_name(pod.asker.account));
  if (is_dns_subdomain(pod_name(name))) return {};
  return fail(Category::kUsage, "\"" + name + "\" does not name a pod", "write it as NAME or pod/NAME");
}

std::string pod_name(const std::string& arg) {
  for (const std::string_view type : {"pod/", "pods/", "po/"})
    if (arg.starts_with(type)) return arg.substr(type.size());
  return arg;
}

std::string pod_path(const Context& context, const std::string& arg, std::string_view subresource) {
  return kube::resources::pods().path(member_namespace(context.global()), pod_name(arg), subresource);
}

}  // namespace fleetadm::commands
