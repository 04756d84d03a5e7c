#include "commands/proxy/proxy.h"

namespace fleetadm::commands {

void register_proxy(Registry& registry) {
  register_proxy_health(registry);
  register_proxy_kubeconfig(registry);
  register_proxy_kubectl(registry);
  register_port_forward(registry);
  register_member_logs(registry);
  register_member_exec(registry);
}

}  // namespace fleetadm::commands
