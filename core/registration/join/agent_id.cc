#include "core/registration/join/agent_id.h"

#include "core/api/hosted_member.h"
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

/// That a credential was stored with; empty where there is none.
std::string id_in(const std::optional<Json>& credential) {
  return credential ? base64_decode(str(*credential, {"data", "agent-name"})).value_or("") : std::string();
}

AgentId fresh_id() {
  std::string id = random_suffix(kAgentIdLength);
  return AgentId{id, std::string(kAgentIdFlag) + id};
}

}  // namespace

Result<AgentId> choose_agent_id(const kube::Client& spoke, const std::vector<std::string>& args, bool fresh) {
  if (std::string given = given_or(args, kAgentIdFlag, {}); !given.empty()) return AgentId{std::move(given), {}};
  const std::string secret = given_or(args, "--hub-kubeconfig-secret=", api::kHubKubeconfigSecret);
  FLEETADM_TRY(const auto stored, spoke.find(kube::resources::secrets(), api::kAgentNamespace, secret));
  FLEETADM_TRY(const auto live, spoke.find(kube::resources::deployments(), api::kAgentNamespace, api::kAgentDeployment));
  const std::string told = live ? given_or(args_of_agent(*live), kAgentIdFlag, {}) : std::string();
  if (!told.empty()) return AgentId{told, std::string(kAgentIdFlag) + told};
  if (std::string id = id_in(stored); !id.empty()) return AgentId{std::move(id), {}};
  if (live || !fresh) return AgentId{};
  return fresh_id();
}

Result<AgentId> choose_hosted_agent_id(const kube::Client& hosting, const std::string& ns, const std::string& cluster,
                                       const std::vector<std::string>& args, const std::vector<std::string>& stored_args,
                                       bool fresh) {
  if (std::string given = given_or(args, kAgentIdFlag, {}); !given.empty()) return AgentId{std::move(given), {}};
  if (const std::string told = given_or(stored_args, kAgentIdFlag, {}); !told.empty())
    return AgentId{told, std::string(kAgentIdFlag) + told};
  FLEETADM_TRY(const auto stored, hosting.find(kube::resources::secrets(), ns, api::hosted_credential_secret(cluster)));
  if (std::string id = id_in(stored); !id.empty()) return AgentId{std::move(id), {}};
  return fresh ? fresh_id() : AgentId{};
}

}  // namespace fleetadm::join
