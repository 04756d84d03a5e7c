#include "commands/addon/install_strategy.h"

#include <algorithm>
#include <set>

#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

Json& placements_in(Json& declaration) {
  Json& strategy = at_or_make(declaration, {"spec", "installStrategy"});
  if (!strategy.is_object() || str(strategy, {"type"}) != "Placements") strategy = {{"type", "Placements"}};
  Json& placements = at_or_make(strategy, {"placements"});
  if (!placements.is_array()) placements = Json::array();
  return placements;
}

Json::iterator entry_of(Json& placements, const PlacementRef& wanted) {
  return std::find_if(placements.begin(), placements.end(),
                      [&](const Json& one) { return str(one, {"name"}) == wanted.name && str(one, {"namespace"}) == wanted.ns; });
}

bool is_by_placements(const Json& declaration) { return str(declaration, {"spec", "installStrategy", "type"}) == "Placements"; }

Result<std::set<std::string>> selected_by(const kube::Client& hub, const Json& declaration) {
  std::set<std::string> clusters;
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    FLEETADM_TRY(const auto decided, decided_clusters(hub, {str(one, {"namespace"}), str(one, {"name"})}));
    clusters.insert(decided.begin(), decided.end());
  }
  return clusters;
}

}  // namespace

void add_placement(Json& declaration, const PlacementRef& placement, const Json& configs) {
  Json& placements = placements_in(declaration);
  auto entry = entry_of(placements, placement);
  if (entry == placements.end()) {
    placements.push_back({{"name", placement.name}, {"namespace", placement.ns}});
    entry = std::prev(placements.end());
  }
  if (!configs.empty()) (*entry)["configs"] = configs;
}

bool remove_placement(Json& declaration, const PlacementRef& placement) {
  if (!is_by_placements(declaration)) return false;
  Json& placements = placements_in(declaration);
  const auto entry = entry_of(placements, placement);
  if (entry == placements.end()) return false;
  placements.erase(entry);
  return true;
}

Result<work::Impact> strategy_impact(const kube::Client& hub, const Json& before, const Json& after) {
  work::Impact impact;
  if (!is_by_placements(after) || before == after) return impact;
  FLEETADM_TRY(const std::set<std::string> kept, selected_by(hub, after));
  std::set<std::string> had;
  if (is_by_placements(before)) {
    FLEETADM_TRY(had, selected_by(hub, before));
  }
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", {}, [&](const Json&) -> Status {
    ++impact.clusters;
    return {};
  }));
  kube::ListOptions which;
  which.field_selector = "metadata.name=" + name_of(after);
  FLEETADM_CHECK(hub.list_each(api::managed_cluster_addons(), "", which, [&](const Json& addon) -> Status {
    const std::string cluster = namespace_of(addon);
    const bool loses = !is_deleting(addon) && !kept.contains(cluster) && (!is_by_placements(before) || had.contains(cluster));
    if (loses) impact.lost.push_back({work::LostWork::Effect::kRemoved, cluster, "add-on " + name_of(addon), ""});
    return {};
  }));
  return impact;
}

}  // namespace fleetadm::commands
