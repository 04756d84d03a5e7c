#include "core/upgrade/member.h"

#include "core/api/agent_health.h"
#include "core/api/agent_version.h"
#include "core/api/kinds.h"
#include "core/work/rules/replica_set_state.h"

namespace fleetadm::upgrade {
namespace {

/// The agent says that it is what was asked for; of one that does not say, its Deployment speaks.
bool runs_wanted(const Json& cluster, const WantedAgent& wanted) {
  if (wanted.version.empty()) return true;
  const std::string told = api::agent_version(cluster);
  return told == wanted.version || (told.empty() && !wanted.tells);
}

Member waiting(std::optional<Instant> since, std::string why) {
  return {rollout::State::kProgressing, since, std::move(why), false};
}

Member judge_current(const Json& cluster, const Json& work, const WantedAgent& wanted, Instant now) {
  work::OwnedWork owned = work::decode_work(work);
  const work::Verdict verdict = work::judge_work(owned, {false, work::SuccessWhen::kReady}, std::nullopt, now);
  if (verdict.state != rollout::State::kSucceeded) {
    // The agent that runs sees more of the one that does not than the work's status tells.
    const api::AgentHealth health = api::agent_health(cluster);
    const bool knows = health.told && !health.ready && !health.silent;
    return {verdict.state, verdict.since, knows ? health.words : verdict.why, false};
  }
  if (!is_available(cluster)) return waiting(verdict.since, "the new agent runs, but the cluster is not available");
  if (!runs_wanted(cluster, wanted)) {
    const std::string told = api::agent_version(cluster);
    return waiting(verdict.since, "the agent still tells " + (told.empty() ? "no version" : "version " + told));
  }
  Member member = waiting(verdict.since, "the agent is finishing");
  member.finished = true;
  return member;
}

}  // namespace

std::string workload_hash(const Json& work) {
  return work::work_spec_hash({{"workload", object_at(work, {"spec", "workload"})}});
}

bool is_available(const Json& cluster) {
  for (const Json& condition : list_at(cluster, {"status", "conditions"})) {
    if (str(condition, {"type"}) == api::kConditionAvailable) return str(condition, {"status"}) == "True";
  }
  return false;
}

Member judge_member(const Json& cluster, const std::optional<Json>& work, const WantedAgent& wanted,
                    const std::optional<Instant>& finished_at, Instant now) {
  if (work && is_deleting(*work)) return waiting(finished_at, "the agent has not released its work yet");
  if (work) {
    if (workload_hash(*work) != wanted.workload_hash) return {};
    Json projected = *work;
    work::project_work(projected);
    return judge_current(cluster, projected, wanted, now);
  }
  if (finished_at) return {rollout::State::kSucceeded, finished_at, {}, false};
  const bool told =
      wanted.any_image && !wanted.version.empty() && api::agent_version(cluster) == wanted.version && is_available(cluster);
  if (told) return {rollout::State::kSucceeded, Instant{}, {}, false};
  return {};
}

}  // namespace fleetadm::upgrade
