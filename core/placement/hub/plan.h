// What a pass has to write, as values: PlacementDecisions in an order in which a cluster that only moves between them is never
// in none of them, then the placement's status (docs/reference/placement.md#decisions,
// docs/reference/placement.md#placement-status). Unchanged results plan nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/placement/engine/schedule.h"
#include "kubeclient/base/json.h"

namespace fleetadm::placement {

struct Write {
  enum class Kind { kCreate, kLabels, kEntries, kDelete };
  Kind kind;
  std::string decision;               // its name
  Json object;                        // kCreate: the object; kLabels: the labels member of a merge patch
  std::vector<std::string> clusters;  // kEntries
};

/// What is left of a pass where the placement can have no decisions (`why`): nothing selected, and a condition that says so.
Pass without_decisions(const Pass& pass, const std::string& why);

/// The writes that turn the existing decisions (by name) into the wanted ones, in order. `placement` is the owner's object.
std::vector<Write> plan_writes(const Json& placement, const Pass& pass, const std::map<std::string, Json>& existing);

/// status.decisions for these clusters.
Json entries_json(const std::vector<std::string>& clusters);

/// The status a pass leaves: counts, groups and conditions over what is there; other members stay.
Json wanted_status(const Json& placement, const Pass& pass, Instant now);

}  // namespace fleetadm::placement
