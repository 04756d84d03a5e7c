// What would be decided if things were otherwise: one pass a placement over changed objects, against what is decided today.
#pragma once

#include <string>
#include <vector>

#include "core/placement/engine/object_set.h"
#include "core/placement/engine/schedule.h"

namespace fleetadm::placement {

struct Simulated {
  std::string ns;
  std::string name;
  Pass pass;
  /// Today is what the scheduler would decide without the change, as there are no decisions.
  bool against_baseline = false;
  std::vector<std::string> added;    // by name
  std::vector<std::string> removed;  // by name
  std::vector<std::string> kept;     // by name
};

/// One pass for each of the placements (namespace and name; those that `changed` lacks are left out), each over the decisions of
/// today. Where a placement has none, today is what it would get from `today` (placements without decisions are then taken one
/// after the other, by name, each seeing what those before it got). `changed` may be `today` itself: nothing was changed.
std::vector<Simulated> simulate(const Objects& today, const Objects& changed, const std::vector<Objects::Key>& placements,
                                Instant now, const PassOptions& options = {});

}  // namespace fleetadm::placement
