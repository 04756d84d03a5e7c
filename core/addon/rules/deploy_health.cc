// The step that judges whether an add-on is available, from what its works report.
#include "core/addon/rules/deploy_state.h"
#include "core/addon/rules/manifest_marks.h"
#include "core/addon/rules/work_verdict.h"
#include "core/controller/controller.h"
#include "core/work/rules/manifest.h"

namespace fleetadm::addon {
namespace {

std::optional<std::int64_t> reported_count(const Json& values, std::string_view name) {
  for (const Json& value : values) {
    if (str(value, {"name"}) != name) continue;
    const Json* count = find(value, {"fieldValue", "integer"});
    if (count != nullptr && count->is_number_integer()) return count->get<std::int64_t>();
  }
  return std::nullopt;
}

/// A value that is judged but is no number: it counts as not reported.
bool has_odd_count(const Json& values) {
  for (const Json& value : values) {
    const std::string name = str(value, {"name"});
    const bool judged =
        name == "Replicas" || name == "ReadyReplicas" || name == "DesiredNumberScheduled" || name == "NumberReady";
    if (judged && find(value, {"fieldValue", "integer"}) == nullptr) return true;
  }
  return false;
}

/// What is wrong with a Deployment or a DaemonSet by its reported values; empty where nothing is.
std::string trouble_of(const Json& meta, const Json& values) {
  const std::string resource = str(meta, {"resource"});
  const bool deployment = resource == "deployments";
  if (!deployment && resource != "daemonsets") return {};
  const std::optional<std::int64_t> desired = reported_count(values, deployment ? "Replicas" : "DesiredNumberScheduled");
  const std::optional<std::int64_t> ready = reported_count(values, deployment ? "ReadyReplicas" : "NumberReady");
  if (!desired) return "desiredNumberReplicas is not probed";
  if (!ready) return "readyReplica is not probed";
  if (deployment ? (*desired == 0 || *ready >= 1) : *ready == *desired) return {};
  return "desiredNumberReplicas is " + std::to_string(*desired) + " but readyReplica is " + std::to_string(*ready) + " for " +
         resource + " " + str(meta, {"namespace"}) + "/" + str(meta, {"name"});
}

std::vector<Json> probes_of(const AgentDescription& agent, const std::vector<Json>& manifests) {
  std::vector<Json> probes;
  if (agent.prober == HealthProber::kWork) {
    for (const Json& field : agent.probe_fields) probes.push_back(object_at(field, {"resourceIdentifier"}));
    return probes;
  }
  for (const Json& manifest : manifests) {
    const GroupResource type = type_of(manifest);
    const bool deployment = type == GroupResource{"apps", "deployments"};
    const bool daemon_set = type == GroupResource{"apps", "daemonsets"} && agent.prober == HealthProber::kWorkloads;
    if (deployment ? num(manifest, {"spec", "replicas"}, 1) != 0 : daemon_set) probes.push_back(resource_identifier(manifest));
  }
  return probes;
}

bool is_probed(const Json& meta, const Json& probe) {
  return str(meta, {"group"}) == str(probe, {"group"}) && str(meta, {"resource"}) == str(probe, {"resource"}) &&
         work::wildcard_match(str(probe, {"namespace"}), str(meta, {"namespace"})) &&
         work::wildcard_match(str(probe, {"name"}), str(meta, {"name"}));
}

Verdict probed(DeployState& state, const std::vector<ObjectPtr>& works, const std::vector<Json>& manifests) {
  const AgentDescription& agent = state.agent;
  const std::vector<Json> probes = probes_of(agent, manifests);
  const bool judges = agent.prober != HealthProber::kWork || agent.checks_workloads;
  bool any = probes.empty();
  std::string trouble;
  for (const Json& probe : probes) {
    for (const ObjectPtr& work : works) {
      for (const Json& entry : list_at(*work, {"status", "resourceStatus", "manifests"})) {
        const Json& meta = object_at(entry, {"resourceMeta"});
        const Json& values = list_at(entry, {"statusFeedback", "values"});
        if (values.empty() || !is_probed(meta, probe)) continue;
        any = true;
        if (!judges || !trouble.empty()) continue;
        trouble = trouble_of(meta, values);
        if (!state.strict && has_odd_count(values)) state.ended = true;
      }
    }
  }
  if (!any) return {"Unknown", "NoProbeResult", "Probe results are not returned"};
  if (!trouble.empty()) return {"False", "ProbeUnavailable", "Probe addon unavailable with err " + trouble};
  return {"True", "ProbeAvailable", name_of(state.addon) + " add-on is available."};
}

/// kUpstream: of the hosted works alone in hosted mode, whether or not the add-on supports it.
std::vector<ObjectPtr> judged_works(const DeployState& state) {
  std::vector<ObjectPtr> works;
  if (state.strict || !state.hosting) works = deploy_works(state.objects, state.addon, Side::kManaged);
  if (!state.hosting) return works;
  for (ObjectPtr& work : deploy_works(state.objects, state.addon, Side::kHosting)) works.push_back(std::move(work));
  return works;
}

std::vector<Json> deployed_manifests(const std::vector<ObjectPtr>& works) {
  std::vector<Json> manifests;
  for (const ObjectPtr& work : works) {
    for (const Json& manifest : list_at(*work, {"spec", "workload", "manifests"})) manifests.push_back(manifest);
  }
  return manifests;
}

}  // namespace

void judge_health(DeployState& state) {
  const AgentDescription& agent = state.agent;
  if (agent.prober == HealthProber::kNone) return;
  const bool by_lease = agent.prober == HealthProber::kLease;
  Json& mode = at_or_make(state.addon, {"status", "healthCheck", "mode"});
  mode = by_lease ? "Lease" : "Customized";
  if (by_lease || agent.prober == HealthProber::kOff || !state.has_condition("ManifestApplied")) return;
  const auto say = [&](const Verdict& verdict) {
    state.set_condition("Available", verdict.status, verdict.reason, verdict.message);
  };
  if (agent.prober == HealthProber::kWork && agent.without_probes)
    return say({"True", "WorkApplied", "Addon manifestWork is applied"});
  if (controller::condition_is(state.managed_cluster, "ManagedClusterConditionAvailable", "Unknown")) return;
  const std::vector<ObjectPtr> works = judged_works(state);
  if (const std::optional<Verdict> trouble = trouble_of_works(works)) return say(*trouble);
  const bool not_rendered = agent.error || agent.held;
  if (!not_rendered || agent.prober == HealthProber::kWork) return say(probed(state, works, agent.manifests));
  // kUpstream: nothing is said while rendering fails.
  if (state.strict) return say(probed(state, works, deployed_manifests(works)));
  state.errors.push_back(*agent.error);
}

}  // namespace fleetadm::addon
