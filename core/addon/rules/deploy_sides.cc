// The steps that deploy an agent: the works on its own cluster and, in hosted mode, on the cluster that runs it.
#include <algorithm>

#include "core/addon/rules/deploy_state.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/packing.h"

namespace fleetadm::addon {
namespace {

/// Makes the works of one side in namespace `ns` say what they have to; `existing` are those that there are.
void deploy_side(DeployState& state, Side side, const std::string& ns, const std::vector<ObjectPtr>& existing) {
  const std::string_view condition = applied_condition_of(side);
  if (!state.has_manifests(condition)) return;
  const std::optional<std::vector<Json>> manifests = state.manifests_of(side, false, condition);
  if (!manifests) return;
  if (manifests->empty()) {
    state.set_condition(condition, "True", "AddonManifestApplied", "no manifest need to apply");
    if (!state.strict) return;
    for (const ObjectPtr& work : existing) state.delete_work(*work);
    return;
  }
  const std::string prefix = deploy_work_prefix(state.addon, side);
  const Result<Packing> packing = pack_manifests(
      existing, *manifests, [&](std::size_t index) { return prefix + std::to_string(index); },
      [&](const std::string& name) { return state.objects.get(manifest_works(), ns, name) != nullptr; }, state.conduct());
  if (!packing) {
    state.set_condition(condition, "False", "ManifestWorkApplyFailed",
                        "failed to build manifestwork: " + packing.error().message);
    state.errors.push_back(packing.error());
    return;
  }
  for (const ObjectPtr& work : existing) {
    if (std::find(packing->emptied.begin(), packing->emptied.end(), name_of(*work)) != packing->emptied.end())
      state.delete_work(*work);
  }
  const std::string hashes = config_hashes_of(state.addon);
  const Json configs = manifest_configs_of(state.agent);
  const Json delete_option = delete_option_of(*manifests);
  for (const PackedWork& packed : packing->works) {
    Json work = new_work(state.addon, ns, packed.name, packed.manifests);
    if (!hashes.empty()) at_or_make(work, {"metadata", "annotations", kConfigSpecHashAnnotation}) = hashes;
    if (!configs.empty()) work["spec"]["manifestConfigs"] = configs;
    if (!delete_option.is_null()) work["spec"]["deleteOption"] = delete_option;
    state.write_work(work, condition);
  }
}

/// Deletes what is left in hosted mode, then lets the add-on go. kUpstream: both in one pass.
void clean_hosting_side(DeployState& state) {
  if (!state.has_finalizer(kHostedManifestsFinalizer)) {
    state.remove_finalizer(kHostedManifestsFinalizer);  // deprecated ones
    return;
  }
  std::vector<ObjectPtr> left = deploy_works(state.objects, state.addon, Side::kHosting);
  if (state.strict) {
    for (ObjectPtr& work : hook_works(state.objects, state.addon, Side::kHosting)) left.push_back(std::move(work));
  }
  const std::size_t before = state.deleted.size();
  for (const ObjectPtr& work : left) state.delete_work(*work);
  if (state.strict && state.deleted.size() > before) return;  // the finalizer goes once they are under deletion
  state.remove_finalizer(kHostedManifestsFinalizer);
}

}  // namespace

void deploy_managed_side(DeployState& state) {
  const bool ending = is_deleting(state.addon) || is_deleting(state.managed_cluster);
  if (ending && !state.has_finalizer(kPreDeleteFinalizer)) return;
  deploy_side(state, Side::kManaged, namespace_of(state.addon), deploy_works(state.objects, state.addon, Side::kManaged));
}

void deploy_hosting_side(DeployState& state) {
  if (!state.agent.hosted_mode_enabled) return;
  if (!state.hosting) {
    if (state.strict) {
      state.remove_condition("HostingClusterValidity");
      state.remove_condition("HostingManifestApplied");
    }
    return clean_hosting_side(state);
  }
  const ObjectPtr cluster = state.objects.get(managed_clusters(), {}, *state.hosting);
  if (cluster == nullptr) {
    clean_hosting_side(state);
    return state.set_condition("HostingClusterValidity", "False", "HostingClusterInvalid",
                               "hosting cluster " + *state.hosting + " is not a managed cluster of the hub");
  }
  state.set_condition("HostingClusterValidity", "True", "HostingClusterValid",
                      "hosting cluster " + *state.hosting + " is a managed cluster of the hub");
  const bool ending = is_deleting(*cluster) || is_deleting(state.addon);
  if (ending && !state.has_finalizer(kHostedPreDeleteFinalizer)) return clean_hosting_side(state);
  // No work before the finalizer that removes it again is written.
  if (state.add_finalizer(kHostedManifestsFinalizer) || !state.has_finalizer(kHostedManifestsFinalizer)) return;
  std::vector<ObjectPtr> existing = deploy_works(state.objects, state.addon, Side::kHosting);
  if (state.strict) {
    const auto elsewhere = std::stable_partition(existing.begin(), existing.end(),
                                                 [&](const ObjectPtr& work) { return namespace_of(*work) == *state.hosting; });
    for (auto work = elsewhere; work != existing.end(); ++work) state.delete_work(**work);
    existing.erase(elsewhere, existing.end());
  }
  deploy_side(state, Side::kHosting, *state.hosting, existing);
}

void leave_without_cluster(DeployState& state) {
  state.remove_finalizer(kPreDeleteFinalizer);
  state.remove_finalizer(kHostedPreDeleteFinalizer);
  clean_hosting_side(state);
}

}  // namespace fleetadm::addon
