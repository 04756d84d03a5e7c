#include "commands/fleet/upgrade_targets.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::commands {

Result<FleetTargets> fleet_targets(Context& context, const kube::Client& hub, const TargetOptions& options,
                                   const StrategyOptions& strategy) {
  FleetTargets targets;
  if (options.placement.empty()) {
    FLEETADM_TRY(ClusterTargets named, cluster_targets(hub, options));
    targets.missing = std::move(named.missing);
    targets.clusters = std::move(named.clusters);
    targets.groups.push_back({{"", 0}, targets.clusters});
  } else {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    FLEETADM_CHECK(placement_exists(hub, ref));
    FLEETADM_TRY(const Json placement, hub.get(api::placements(), ref.ns, ref.name));
    kube::ListOptions which;
    which.label_selector = std::string(api::kPlacementLabel) + "=" + ref.name;
    FLEETADM_TRY(const Json decisions, hub.list(api::placement_decisions(), ref.ns, which));
    const Json& items = list_at(decisions, {"items"});
    const work::PlacementView view = work::view_placement(&placement, {items.begin(), items.end()});
    if (!view.problem.empty()) return fail(Category::kConflict, view.problem);
    targets.groups = view.groups;
    for (const rollout::Group& group : view.groups)
      targets.clusters.insert(targets.clusters.end(), group.clusters.begin(), group.clusters.end());
    for (const std::string& first : strategy.first) {
      const bool known = std::any_of(view.groups.begin(), view.groups.end(),
                                     [&](const rollout::Group& group) { return group.key.name == first; });
      if (!known && !strategy.allow_missing)
        return fail(Category::kNotFound, "placement " + ref.ns + "/" + ref.name + " has no decision group \"" + first + "\"");
    }
    if (targets.clusters.empty())
      return fail(Category::kNotFound, "placement " + ref.ns + "/" + ref.name + " has not selected any clusters");
  }
  std::sort(targets.clusters.begin(), targets.clusters.end());
  if (targets.clusters.empty() && !targets.missing.empty()) return tl::unexpected(targets.missing.front());
  return targets;
}

}  // namespace fleetadm::commands
