// `fleetadm hub run`: the hub controllers in this process, until a signal.
#pragma once

#include "commands/framework/command.h"
#include "commands/framework/hub_drivers.h"
#include "commands/framework/push_health.h"
#include "kubeclient/lease/leader.h"

namespace fleetadm::commands {

struct HubRunOptions {
  std::string leader_elect = "auto";
  std::string health_address;
  std::string webhook_address;
  std::string webhook_url;
  std::vector<std::string> auto_approve_users;
  HubDriverOptions drivers;
  std::vector<std::string> labels;  // key=value
  bool cluster_profiles = false;
  bool push = false;
  PushHealthOptions push_health;
  kube::LeaderTiming leader_timing;
};

Command hub_run_command();
Status validate_hub_run(const HubRunOptions& options);

}  // namespace fleetadm::commands
