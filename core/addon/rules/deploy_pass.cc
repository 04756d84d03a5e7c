#include "core/addon/rules/deploy_pass.h"

#include <algorithm>

#include "core/addon/rules/deploy_state.h"
#include "core/addon/rules/names.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

std::vector<std::string> finalizers_of(const Json& object) { return string_list_at(object, {"metadata", "finalizers"}); }

bool gained_finalizer(const Json& before, const Json& after) {
  const std::vector<std::string> had = finalizers_of(before);
  for (const std::string& one : finalizers_of(after)) {
    if (std::find(had.begin(), had.end(), one) == had.end()) return true;
  }
  return false;
}

/// kUpstream writes finalizers or the status, not both, and has its write refused that adds a finalizer under deletion.
Result<Json> as_upstream_writes(const Json& before, Json after) {
  if (finalizers_of(before) == finalizers_of(after)) return after;
  if (is_deleting(before) && gained_finalizer(before, after)) {
    return fail(Category::kInvalid,
                "failed to update addon finalizers: no new finalizers can be added if the object is being deleted");
  }
  Json written = before;
  erase_at(written, {"metadata", "finalizers"});
  if (const Json* finalizers = find(after, {"metadata", "finalizers"}))
    at_or_make(written, {"metadata", "finalizers"}) = *finalizers;
  return written;
}

void add_errors(Pass& pass, std::vector<Error> errors) {
  for (Error& error : errors) {
    const auto same = [&](const Error& known) { return known.message == error.message; };
    if (std::none_of(pass.errors.begin(), pass.errors.end(), same)) pass.errors.push_back(std::move(error));
  }
}

}  // namespace

Pass deploy_pass(const ObjectReader& objects, std::string_view addon, std::string_view cluster, const AgentDescription& agent,
                 Instant now, rollout::Semantics conduct) {
  Pass pass;
  const ObjectPtr before = objects.get(managed_cluster_addons(), cluster, addon);
  const ObjectPtr managed_cluster = objects.get(managed_clusters(), {}, cluster);
  const bool strict = conduct == rollout::Semantics::kStrict;
  if (before == nullptr || (managed_cluster == nullptr && !(strict && is_deleting(*before)))) return pass;
  static const Json nowhere = Json::object();
  DeployState state{objects, agent, managed_cluster ? *managed_cluster : nowhere, now, strict, *before, std::nullopt};
  if (!state.has_condition("RegistrationApplied")) return pass;
  const Json* hosting = find(*before, {"metadata", "annotations", kHostingClusterAnnotation});
  // kStrict takes an empty name for none, as all other controllers do.
  if (agent.hosted_by_annotation && hosting != nullptr && hosting->is_string() && !(state.strict && *hosting == ""))
    state.hosting = hosting->get<std::string>();

  if (managed_cluster == nullptr) {
    leave_without_cluster(state);
  } else {
    deploy_managed_side(state);
    deploy_hosting_side(state);
    run_managed_hook(state);
    run_hosting_hook(state);
    judge_health(state);
  }

  add_errors(pass, std::move(state.errors));
  Json after = std::move(state.addon);
  if (state.ended) {
    pass.errors.push_back(fail(Category::kInvalid, "a reported replica count is no number").value());
    after = *before;
  }
  if (!state.strict) {
    Result<Json> written = as_upstream_writes(*before, std::move(after));
    if (!written) pass.errors.push_back(written.error());
    after = written ? std::move(*written) : *before;
  }
  pass.changed = std::move(state.works);
  if (after != *before) {
    // A finalizer is there before what it is to clean up.
    const auto place = gained_finalizer(*before, after) ? pass.changed.begin() : pass.changed.end();
    pass.changed.insert(place, std::move(after));
  }
  pass.deleted = std::move(state.deleted);
  return pass;
}

}  // namespace fleetadm::addon
