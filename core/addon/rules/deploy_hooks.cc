// The steps that run what has to run before an add-on is removed.
#include <map>

#include "core/addon/rules/deploy_state.h"
#include "core/addon/rules/manifest_marks.h"
#include "core/addon/rules/names.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kHookCompleted = "HookManifestCompleted";

struct HookWork {
  bool known = false;  // whether there are hooks
  Json work;           // null: there are none
};

/// The hook that has begun to run is waited for; one that has not cannot any more.
HookWork hook_work_of_lost(const DeployState& state, Side side, const std::string& ns) {
  for (const ObjectPtr& work : hook_works(state.objects, state.addon, side)) {
    if (namespace_of(*work) == ns && name_of(*work) == hook_work_name(state.addon, side)) return {true, *work};
  }
  return {true, {}};
}

HookWork hook_work_of(DeployState& state, Side side, const std::string& ns) {
  if (state.agent.lost) return hook_work_of_lost(state, side, ns);
  const std::string_view condition = applied_condition_of(side);
  // kUpstream: an add-on that is not configured yet counts as one without hooks.
  if (!state.is_decided()) return {!state.strict, {}};
  if (!state.has_manifests(condition)) return {};
  const std::optional<std::vector<Json>> hooks = state.manifests_of(side, true, condition);
  if (!hooks) return {};
  if (hooks->empty()) return {true, {}};
  std::map<std::string, std::size_t> place;
  std::vector<Json> manifests;
  Json configs = Json::array();
  for (const Json& hook : *hooks) {
    const auto [at, is_new] = place.try_emplace(manifest_key(hook), manifests.size());
    if (!is_new) {
      manifests[at->second] = hook;
      continue;
    }
    manifests.push_back(hook);
    configs.push_back(Json{{"resourceIdentifier", resource_identifier(hook)},
                           {"feedbackRules", Json::array({Json{{"type", "WellKnownStatus"}}})}});
  }
  Json work = new_work(state.addon, ns, hook_work_name(state.addon, side), manifests);
  work["spec"]["manifestConfigs"] = std::move(configs);
  return {true, std::move(work)};
}

bool is_done(const Json& hook, const Json& values) {
  const bool job = str(hook, {"kind"}) == "Job";
  for (const Json& value : values) {
    if (str(value, {"name"}) != (job ? "JobComplete" : "PodPhase")) continue;
    return str(value, {"fieldValue", "string"}) == (job ? "True" : "Succeeded");
  }
  return false;
}

/// What the agent reported of an object of a work; nullptr: nothing.
const Json* reported_values(const Json& work, const Json& identifier, rollout::Semantics conduct) {
  for (const Json& entry : list_at(work, {"status", "resourceStatus", "manifests"})) {
    const Json& values = list_at(entry, {"statusFeedback", "values"});
    // kUpstream: an object without any value hides those after it.
    if (values.empty() && conduct == rollout::Semantics::kUpstream) return nullptr;
    bool same = true;
    for (const char* member : {"group", "resource", "namespace", "name"}) {
      same = same && str(entry, {"resourceMeta", member}) == str(identifier, {member});
    }
    if (same) return &values;
  }
  return nullptr;
}

bool is_completed(const Json& work, rollout::Semantics conduct) {
  if (!controller::condition_is(work, "Available", "True")) return false;
  for (const Json& hook : list_at(work, {"spec", "workload", "manifests"})) {
    const Json* values = reported_values(work, resource_identifier(hook), conduct);
    if (values == nullptr || !is_done(hook, *values)) return false;
  }
  return true;
}

/// Writes the hook's work; true where it has completed.
bool run_hook(DeployState& state, Side side, const Json& wanted) {
  const ObjectPtr current = state.write_work(wanted, applied_condition_of(side));
  if (current == nullptr) return false;
  Json now = *current;  // as it is once the pass is written: status and all
  now["spec"] = object_at(wanted, {"spec"});
  return is_completed(now, state.conduct());
}

void say_completed(DeployState& state, const Json& work) {
  state.set_condition(kHookCompleted, "True", "HookManifestIsCompleted", "hook manifestWork " + name_of(work) + " is completed.");
}

void say_running(DeployState& state, const Json& work) {
  state.set_condition(kHookCompleted, "False", "HookManifestIsNotCompleted",
                      "hook manifestWork " + name_of(work) + " is not completed.");
}

/// kUpstream: the hook's works go with the finalizer; kStrict: deploy_hosting_side() deletes them with the others.
void let_hosting_hook_go(DeployState& state) {
  if (!state.strict && state.has_finalizer(kHostedPreDeleteFinalizer)) {
    for (const ObjectPtr& work : hook_works(state.objects, state.addon, Side::kHosting)) state.delete_work(*work);
  }
  state.remove_finalizer(kHostedPreDeleteFinalizer);
}

}  // namespace

void run_managed_hook(DeployState& state) {
  const HookWork hook = hook_work_of(state, Side::kManaged, namespace_of(state.addon));
  if (!hook.known) return;
  if (hook.work.is_null()) return state.remove_finalizer(kPreDeleteFinalizer);
  if (state.add_finalizer(kPreDeleteFinalizer)) return;
  if (!is_deleting(state.addon) || !state.has_finalizer(kPreDeleteFinalizer)) return;
  if (!run_hook(state, Side::kManaged, hook.work)) return say_running(state, hook.work);
  say_completed(state, hook.work);
  state.remove_finalizer(kPreDeleteFinalizer);
}

void run_hosting_hook(DeployState& state) {
  if (!state.agent.hosted_mode_enabled) return;
  if (!state.hosting) {
    if (state.strict) state.remove_finalizer(kHostedPreDeleteFinalizer);
    return;
  }
  const ObjectPtr cluster = state.objects.get(managed_clusters(), {}, *state.hosting);
  if (cluster == nullptr) return state.remove_finalizer(kHostedPreDeleteFinalizer);
  if (is_deleting(*cluster)) return let_hosting_hook_go(state);
  const HookWork hook = hook_work_of(state, Side::kHosting, *state.hosting);
  if (!hook.known) return;
  if (hook.work.is_null()) return state.remove_finalizer(kHostedPreDeleteFinalizer);
  if (!is_deleting(state.addon)) {
    state.add_finalizer(kHostedPreDeleteFinalizer);
    return;
  }
  if (!state.has_finalizer(kHostedPreDeleteFinalizer)) return;
  if (!state.strict && state.condition_is(kHookCompleted, "True")) return let_hosting_hook_go(state);
  if (!run_hook(state, Side::kHosting, hook.work)) return say_running(state, hook.work);
  if (!state.strict || !state.has_finalizer(kPreDeleteFinalizer)) say_completed(state, hook.work);
  if (state.strict) let_hosting_hook_go(state);
}

}  // namespace fleetadm::addon
