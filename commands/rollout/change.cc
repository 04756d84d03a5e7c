#include "commands/rollout/change.h"

#include <set>
#include <utility>

#include "commands/framework/manifests.h"
#include "commands/framework/targets.h"
#include "core/api/kinds.h"
#include "core/work/plan/diff.h"
#include "core/work/plan/split.h"
#include "core/work/rules/names.h"

namespace fleetadm::commands {

void bind_change(FlagSet& flags, ChangeOptions& options) {
  manifests_flag(flags, options.files);
  placement_flag(flags, &options.placement, "the placement that selects the clusters");
  bind_strategy(flags, options.strategy);
}

Status validate_change(const ChangeOptions& options) {
  FLEETADM_TRY([[maybe_unused]] const Json strategy, strategy_over(options.strategy, Json()));
  return {};
}

Status RolloutChange::apply_to(Json& set) const {
  if (manifests) at_or_make(set, {"spec", "manifestWorkTemplate", "workload", "manifests"}) = *manifests;
  FLEETADM_CHECK(edit_placement_refs(set, placement, strategy));
  edit_success(set, strategy, uid_of(set).empty());
  if (list_at(set, {"spec", "placementRefs"}).empty())
    return fail(Category::kUsage, "missing flag: --placement", "a new rollout needs --placement to select its clusters");
  if (list_at(set, {"spec", "manifestWorkTemplate", "workload", "manifests"}).empty())
    return fail(Category::kUsage, "no manifests given", "use -f FILE, -f FOLDER or -f -");
  return {};
}

Result<RolloutChange> read_change(Context& context, const ChangeOptions& options, const std::string& text) {
  RolloutChange change;
  FLEETADM_TRY(change.name, rollout_name(context, text));
  change.strategy = options.strategy;
  if (!options.files.empty()) {
    FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
    FLEETADM_CHECK(check_manifests(loaded));
    if (work::split_manifests(change.name.name, manifest_list(loaded), {}, work::kManifestLimit).size() > 1) {
      return fail(Category::kInvalid,
                  "the manifests exceed the size limit of one work (" + std::to_string(work::kManifestLimit / 1024) + " KiB)",
                  "\"fleetadm work apply --placement\" splits them into several works, each with its own rollout");
    }
    change.manifests = manifest_list(loaded);
  }
  if (!options.placement.empty()) {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    if (text.find('/') == std::string::npos) change.name.ns = ref.ns;
    if (ref.ns != change.name.ns) return fail(Category::kUsage, "a rollout and its placement must be in the same namespace");
    change.placement = ref.name;
  }
  if (change.name.ns.size() + 1 + change.name.name.size() > 63)
    return fail(Category::kUsage, "a rollout's namespace and name together are limited to 62 characters");
  return change;
}

Status check_placement(const kube::Client& hub, const RolloutChange& change) {
  if (change.placement.empty()) return {};
  return placement_exists(hub, PlacementRef{change.name.ns, change.placement});
}

Json empty_set(const RolloutName& name) {
  return Json{{"apiVersion", api::manifest_work_replica_sets().api_version()},
              {"kind", api::manifest_work_replica_sets().kind},
              {"metadata", {{"name", name.name}, {"namespace", name.ns}}},
              {"spec", Json::object()}};
}

Result<work::Removals> removals_of(const kube::Client& hub, const RolloutView& now, const Json& wanted) {
  work::Removals removals;
  std::set<std::string> selected;
  for (const Json& ref : list_at(wanted, {"spec", "placementRefs"})) {
    FLEETADM_TRY(const std::vector<std::string> clusters,
                 decided_clusters(hub, PlacementRef{namespace_of(wanted), str(ref, {"name"})}));
    selected.insert(clusters.begin(), clusters.end());
  }
  std::set<std::string> kept;
  for (const Json& manifest : list_at(wanted, {"spec", "manifestWorkTemplate", "workload", "manifests"}))
    kept.insert(work::manifest_identity(manifest));
  const Json& before = object_at(now.set, {"spec", "manifestWorkTemplate"});
  const std::int64_t whole = work::deleted_objects(before);
  const std::int64_t dropped = work::deleted_objects(before, kept);
  for (const work::OwnedWork& work : now.works) {
    const bool leaves = !selected.contains(work.ns);
    if (leaves) removals.clusters.insert(work.ns);
    removals.objects += leaves ? whole : dropped;
  }
  removals.of = static_cast<std::int64_t>(now.works.size());
  return removals;
}

}  // namespace fleetadm::commands
