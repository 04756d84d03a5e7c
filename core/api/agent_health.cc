#include "core/api/agent_health.h"

#include "core/api/kinds.h"

namespace fleetadm::api {

std::string AgentHealth::text() const {
  if (!told) return {};
  return std::string(silent ? "silent, at last " : "") + (ready ? "ready" : "not ready") + (words.empty() ? "" : ": " + words);
}

AgentHealth agent_health(const Json& cluster) {
  AgentHealth health;
  for (const Json& condition : list_at(cluster, {"status", "conditions"})) {
    const std::string type = str(condition, {"type"});
    if (type == kConditionAvailable) health.silent = str(condition, {"status"}) == "Unknown";
    if (type != kConditionAgentReady) continue;
    health.told = true;
    health.ready = str(condition, {"status"}) == "True";
    health.words = str(condition, {"message"});
  }
  return health;
}

}  // namespace fleetadm::api
