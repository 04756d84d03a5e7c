#include "core/addon/rules/placement_groups.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::addon {

bool PlacementGroups::complete() const {
  return placement == nullptr ||
         static_cast<std::int64_t>(clusters.size()) >= num(*placement, {"status", "numberOfSelectedClusters"});
}

PlacementGroups read_groups(const ObjectReader& objects, std::string_view ns, std::string_view name, rollout::Semantics conduct) {
  PlacementGroups out;
  out.placement = objects.get(placements(), ns, name);
  if (!out.placement) return out;
  std::vector<Json> decisions;
  for (const ObjectPtr& decision : objects.list(placement_decisions(), ns)) {
    if (label_of(*decision, api::kPlacementLabel) != name) continue;
    decisions.push_back(*decision);
    if (conduct == rollout::Semantics::kUpstream) erase_at(decisions.back(), {"metadata", "ownerReferences"});
  }
  work::PlacementView view = work::view_placement(out.placement.get(), decisions);
  const std::string outsider = conduct == rollout::Semantics::kStrict ? objects.outsider(*out.placement, view) : std::string();
  if (!outsider.empty()) {
    out.beyond_bounds = true;
    out.problem = "the decisions of placement " + std::string(ns) + "/" + std::string(name) + " name cluster " + outsider +
                  ", which is in no cluster set that is bound to namespace " + std::string(ns);
    return out;
  }
  out.groups = std::move(view.groups);
  out.problem = std::move(view.problem);
  for (const rollout::Group& group : out.groups) out.clusters.insert(group.clusters.begin(), group.clusters.end());
  return out;
}

bool is_installed_by_placements(const Json& declaration) {
  const std::string type = str(declaration, {"spec", "installStrategy", "type"});
  return !type.empty() && type != "Manual";
}

}  // namespace fleetadm::addon
