// The proxy verbs: managed clusters through the hub's gateway.
#pragma once

#include "commands/framework/command.h"

namespace fleetadm::commands {

void register_proxy(Registry& registry);

void register_proxy_kubectl(Registry& registry);
void register_proxy_kubeconfig(Registry& registry);
void register_proxy_health(Registry& registry);
void register_port_forward(Registry& registry);
void register_member_logs(Registry& registry);
void register_member_exec(Registry& registry);

}  // namespace fleetadm::commands
