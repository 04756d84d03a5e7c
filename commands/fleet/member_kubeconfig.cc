#include "commands/fleet/member_kubeconfig.h"

#include <utility>

#include "core/registration/join/member_token.h"
#include "kubeclient/transport/endpoint.h"

namespace fleetadm::commands {

join::MemberWay way_to_member(Context& context, const std::string& server, const kube::RestConfig& config) {
  join::MemberWay way{config.server, config.ca_data, config.tls_server_name, config.proxy_url};
  if (!server.empty()) way.server = server;
  if (kube::is_loopback_server(way.server)) {
    context.progress().warn("pods of the hosting cluster do not reach the managed cluster at " + way.server +
                            ", an address of this machine: name another one with --managed-cluster-apiserver");
  }
  return way;
}

std::optional<join::MemberWay> stored_way(const std::string& kubeconfig) {
  const auto access = join::member_access(kubeconfig);
  if (!access) return std::nullopt;
  const kube::RestConfig& config = access->config;
  return join::MemberWay{config.server, config.ca_data, config.tls_server_name, config.proxy_url};
}

MemberKubeconfig::MemberKubeconfig(Context& context, const HostedSides& sides, join::MemberWay way, std::string stored)
    : context_(context), sides_(sides), way_(std::move(way)), stored_(std::move(stored)) {
  kept_ = join::token_to_keep(stored_, way_, context_.clock().now());
}

Result<std::string> MemberKubeconfig::get() {
  if (!kept_.empty() && check(kept_)) return stored_;
  FLEETADM_TRY(const std::string token, join::new_member_token(sides_.member, join::hosted_member_account()));
  FLEETADM_CHECK(check(token));
  return join::member_kubeconfig(way_, token);
}

Status MemberKubeconfig::check(const std::string& token) {
  kube::RestConfig as_agent = sides_.member_config;
  as_agent.credentials = kube::static_credentials({.token = token});
  as_agent.impersonate_user.clear();
  as_agent.impersonate_uid.clear();
  as_agent.impersonate_groups.clear();
  as_agent.impersonate_extra.clear();
  return join::check_member_token(context_.client(as_agent), join::hosted_member_account(), context_.stop());
}

}  // namespace fleetadm::commands
