// The clusters that a placement has decided on, in its decision groups.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

struct PlacementGroups {
  ObjectPtr placement;  // null: there is none
  std::vector<rollout::Group> groups;
  std::set<std::string> clusters;
  std::string problem;  // why the decisions are not followed: one without a group index, or one for an outsider
  /// kStrict: the decisions name a cluster that the placement's namespace may not use. None of them is followed.
  bool beyond_bounds = false;

  /// The decisions name as many clusters as the placement's status.
  bool complete() const;
};

/// kStrict: of the decisions with the placement's label those that it owns, or else those that no placement owns.
PlacementGroups read_groups(const ObjectReader& objects, std::string_view ns, std::string_view name, rollout::Semantics conduct);

/// spec.installStrategy of a declaration names placements.
bool is_installed_by_placements(const Json& declaration);

}  // namespace fleetadm::addon
