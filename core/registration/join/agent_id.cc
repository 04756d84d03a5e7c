#include "core/registration/join/agent_id.h"

#include "core/api/kinds.h"
#include "core/registration/join/agent_manifests.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::join {
namespace {

constexpr std::string_view kAgentIdFlag = "--agent-id=";
constexpr int kAgentIdLength = 5;  // as the agent's own

std::vector<std::string> args_of_agent(const Json& deployment) {
  const Json& containers = list_at(deployment, {"spec", "template", "spec", "containers"});
  return containers.empty() ? std::vector<std::string>{} : string_list_at(containers.front(), {"args"});
}

}  // namespace

Result<AgentId> choose_agent_id(const kube::Client& spoke, const std::vector<std::string>& args, bool fresh) {
  if (std::string given = given_or(args, kAgentIdFlag, {}); !given.empty()) return AgentId{std::move(given), {}};
  const std::string secret = given_or(args, "--hub-kubeconfig-secret=", api::kHubKubeconfigSecret);
  FLEETADM_TRY(const auto stored, spoke.find(kube::resources::secrets(), api::kAgentNamespace, secret));
  FLEETADM_TRY(const auto live, spoke.find(kube::resources::deployments(), api::kAgentNamespace, api::kAgentDeployment));
  const std::string told = live ? given_or(args_of_agent(*live), kAgentIdFlag, {}) : std::string();
  if (!told.empty()) return AgentId{told, std::string(kAgentIdFlag) + told};
  if (stored) {
    const auto id = base64_decode(str(*stored, {"data", "agent-name"}));
    if (id && !id->empty()) return AgentId{*id, {}};
  }
  if (live || !fresh) return AgentId{};
  std::string id = random_suffix(kAgentIdLength);
  return AgentId{id, std::string(kAgentIdFlag) + id};
}

}  // namespace fleetadm::join
