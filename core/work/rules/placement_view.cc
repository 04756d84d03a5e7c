// What a replica set sees of its placements.
#include <algorithm>
#include <charconv>

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::work {
namespace {

enum class Ownership { kOwn, kNone, kAnother };

/// Whose a PlacementDecision is by its owner references.
Ownership owned_by_placement(const Json& decision, const std::string& placement_uid) {
  Ownership ownership = Ownership::kNone;
  for (const Json& owner : list_at(decision, {"metadata", "ownerReferences"})) {
    if (str(owner, {"kind"}) != "Placement" || !str(owner, {"apiVersion"}).starts_with(api::placements().group + "/")) continue;
    if (!placement_uid.empty() && str(owner, {"uid"}) == placement_uid) return Ownership::kOwn;
    ownership = Ownership::kAnother;
  }
  return ownership;
}

}  // namespace

std::int64_t PlacementView::clusters() const {
  std::int64_t count = 0;
  for (const rollout::Group& group : groups) count += static_cast<std::int64_t>(group.clusters.size());
  return count;
}

PlacementView view_placement(const Json* placement, const std::vector<Json>& decisions) {
  PlacementView view;
  if (placement == nullptr) return view;
  view.exists = true;
  view.selected = num(*placement, {"status", "numberOfSelectedClusters"});
  view.status_groups = static_cast<std::int64_t>(list_at(*placement, {"status", "decisionGroups"}).size());
  const std::string uid = uid_of(*placement);
  const bool owns = std::any_of(decisions.begin(), decisions.end(),
                                [&](const Json& decision) { return owned_by_placement(decision, uid) == Ownership::kOwn; });
  std::map<rollout::GroupKey, std::vector<std::string>> groups;
  for (const Json& decision : decisions) {
    if (owned_by_placement(decision, uid) != (owns ? Ownership::kOwn : Ownership::kNone)) continue;
    view.decided = true;
    const std::string text = label_of(decision, placement::kGroupIndexLabel);
    rollout::GroupKey key{label_of(decision, placement::kGroupNameLabel), 0};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key.index);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
      view.problem = "PlacementDecision " + name_of(decision) + " has no group index";
    }
    std::vector<std::string>& clusters = groups[key];
    for (const Json& entry : list_at(decision, {"status", "decisions"})) {
      if (std::string cluster = str(entry, {"clusterName"}); !cluster.empty()) clusters.push_back(std::move(cluster));
    }
  }
  for (auto& [key, clusters] : groups) view.groups.push_back({key, std::move(clusters)});
  return view;
}

}  // namespace fleetadm::work
