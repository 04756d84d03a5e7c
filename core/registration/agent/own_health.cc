#include "core/registration/agent/own_health.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/api/agent_health.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/install/pod_trouble.h"
#include "core/work/rules/readiness.h"

namespace fleetadm::registration::agent {
namespace {

constexpr std::size_t kMostTold = 3;  // troubles, or restarts

std::string times(std::int64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

/// "container agent of pod ns/name restarted 2 times, at last OOMKilled"
std::vector<std::string> restarts(const Json& pods) {
  std::vector<std::string> told;
  for (const Json& pod : list_at(pods, {"items"})) {
    if (is_deleting(pod)) continue;
    for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
      const std::int64_t count = num(status, {"restartCount"});
      if (count == 0) continue;
      const std::string last = str(status, {"lastState", "terminated", "reason"});
      told.push_back("container " + str(status, {"name"}) + " of pod " + kube::object_key(pod) + " restarted " + times(count) +
                     (last.empty() ? "" : ", at last " + last));
    }
  }
  return told;
}

}  // namespace

OwnHealth judge_own_health(const Json& deployment, const Json& pods) {
  const work::Readiness readiness = work::readiness_of(deployment);
  OwnHealth health{true, readiness.state == work::ReadyState::kTrue, readiness.reason, readiness.message};
  std::vector<std::string> more;
  for (const install::PodTrouble& trouble : install::pod_troubles(deployment, pods)) {
    if (more.empty() && !health.ready)
      health.reason = work::valid_reason(trouble.reason.substr(0, trouble.reason.find(',')), health.reason);
    more.push_back(trouble.text());
  }
  if (more.empty()) more = restarts(pods);
  more.resize(std::min(more.size(), kMostTold));
  for (const std::string& one : more) health.words += (health.words.empty() ? "" : "; ") + one;
  return health;
}

kube::InformerOptions own_deployment(std::string_view ns) {
  kube::InformerOptions which;
  which.ns = ns;
  which.field_selector = "metadata.name=" + std::string(api::kAgentDeployment);
  which.project = [](Json& deployment) {
    Json metadata = Json::object();
    for (const char* field : {"name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp"}) {
      if (const Json* value = find(deployment, {"metadata", field})) metadata[field] = *value;
    }
    deployment = {
        {"apiVersion", kube::resources::deployments().api_version()},  // items of a list do not say it
        {"kind", kube::resources::deployments().kind},
        {"metadata", std::move(metadata)},
        {"spec",
         {{"replicas", num(deployment, {"spec", "replicas"}, 1)}, {"selector", object_at(deployment, {"spec", "selector"})}}},
        {"status", object_at(deployment, {"status"})}};
  };
  return which;
}

std::optional<OwnHealth> read_own_health(const kube::Client& spoke, const std::vector<Json>& deployments) {
  if (deployments.empty()) return OwnHealth{};
  const auto pods = install::read_pods(spoke, deployments.front());
  if (!pods) return std::nullopt;
  return judge_own_health(deployments.front(), *pods);
}

void write_own_health(const OwnHealth& health, Instant now, Json& conditions) {
  if (health.deployed) {
    controller::set_condition(conditions, api::kConditionAgentReady, health.ready ? "True" : "False", health.reason, health.words,
                              now);
    return;
  }
  const auto gone = std::remove_if(conditions.begin(), conditions.end(),
                                   [](const Json& one) { return str(one, {"type"}) == api::kConditionAgentReady; });
  conditions.erase(gone, conditions.end());
}

}  // namespace fleetadm::registration::agent
