#include "core/addon/rules/deploy_scenario.h"

#include "core/addon/rules/deploy_pass.h"
#include "core/addon/rules/template_agent.h"

namespace fleetadm::addon {
namespace {

Result<HealthProber> read_prober(const std::string& text) {
  if (text.empty()) return HealthProber::kNone;
  if (text == "Lease") return HealthProber::kLease;
  if (text == "None") return HealthProber::kOff;
  if (text == "Work") return HealthProber::kWork;
  if (text == "DeploymentAvailability") return HealthProber::kDeployments;
  if (text == "WorkloadAvailability") return HealthProber::kWorkloads;
  return fail(Category::kInvalid, "unknown healthProber \"" + text + "\"");
}

Result<AgentDescription> read_agent(const Json& agent) {
  AgentDescription read;
  for (const Json& manifest : list_at(agent, {"manifests"})) {
    if (str(manifest, {"kind"}).empty()) return fail(Category::kInvalid, "a manifest without a kind");
    read.manifests.push_back(manifest);
  }
  if (std::string error = str(agent, {"error"}); !error.empty()) {
    read.error = Error{};
    read.error->message = std::move(error);
  }
  read.hosted_mode_enabled = flag(agent, {"hostedModeEnabled"});
  read.hosted_by_annotation = flag(agent, {"hostedModeInfo"});
  read.config_check_enabled = flag(agent, {"configCheckEnabled"});
  read.manifest_configs = list_at(agent, {"manifestConfigs"});
  FLEETADM_TRY(read.prober, read_prober(str(agent, {"healthProber"})));
  read.probe_fields = list_at(agent, {"probeFields"});
  read.checks_workloads = str(agent, {"checker"}) == "workload";
  read.without_probes = flag(agent, {"noWorkProber"});
  return read;
}

}  // namespace

Result<Json> answer_deploy_scenario(const Json& scenario, rollout::Semantics conduct) {
  FLEETADM_TRY(const ScenarioInput input, read_scenario(scenario));
  std::optional<AgentDescription> agent;
  if (str(scenario, {"agent", "type"}) == "template") {
    const ObjectPtr addon = input.objects.get(managed_cluster_addons(), input.cluster, input.addon);
    if (addon != nullptr) agent = template_agent(input.objects, *addon, conduct);
  } else {
    FLEETADM_TRY(agent, read_agent(object_at(scenario, {"agent"})));
  }
  if (!agent) return pass_answer(input.objects, {});
  return pass_answer(input.objects, deploy_pass(input.objects, input.addon, input.cluster, *agent, input.now, conduct));
}

}  // namespace fleetadm::addon
