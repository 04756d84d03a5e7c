#include "commands/addon/addon.h"
#include "commands/agent/agent.h"
#include "commands/cel/cel.h"
#include "commands/certs/certs.h"
#include "commands/cluster/cluster.h"
#include "commands/clusterset/clusterset.h"
#include "commands/completion/completion.h"
#include "commands/doctor/doctor.h"
#include "commands/events/events.h"
#include "commands/fleet/fleet.h"
#include "commands/framework/command.h"
#include "commands/gateway/gateway.h"
#include "commands/get/get.h"
#include "commands/hub/hub.h"
#include "commands/image/image.h"
#include "commands/in_pod/in_pod.h"
#include "commands/msa/msa.h"
#include "commands/placement/placement.h"
#include "commands/proxy/proxy.h"
#include "commands/rollout/rollout.h"
#include "commands/sandbox/sandbox.h"
#include "commands/score/score.h"
#include "commands/topics/topics.h"
#include "commands/version/version.h"
#include "commands/work/work.h"

namespace fleetadm::commands {

void register_all(Registry& registry) {
  register_get(registry);  // first: its group heading is that of its first row
  register_fleet(registry);
  register_in_pod(registry);
  register_doctor(registry);
  register_certs(registry);
  register_events(registry);
  register_cluster(registry);
  register_clusterset(registry);
  register_placement(registry);
  register_score(registry);
  register_cel(registry);
  register_work(registry);
  register_rollout(registry);
  register_addon_config_get(registry);
  register_addon_config_set(registry);
  register_addon_create(registry);
  register_addon_describe(registry);
  register_addon_get(registry);
  register_addon_enable(registry);
  register_addon_disable(registry);
  register_addon_install(registry);
  register_addon_render(registry);
  register_addon_status(registry);
  register_addon_simulate(registry);
  register_msa(registry);
  register_proxy(registry);
  register_hub(registry);
  register_agent(registry);
  register_gateway(registry);
  register_image(registry);
#ifndef FLEETADM_WITHOUT_SANDBOX
  register_sandbox_fleet(registry);
  register_sandbox_faults(registry);
  register_sandbox_load(registry);
  register_sandbox_logs(registry);
  register_sandbox(registry);
#endif
  register_version(registry);
  register_completion(registry);
  register_topics(registry);
}

}  // namespace fleetadm::commands
