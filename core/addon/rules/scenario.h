// Scenario lines of add-ons: one pass over the objects of the line as JSON, and its answer. The formats are in
// fleetadm-scenarios(7).
#pragma once

#include "core/addon/rules/pass.h"

namespace fleetadm::addon {

/// What the families share of a line.
struct ScenarioInput {
  std::string addon;
  std::string cluster;
  Instant now{};
  MemoryObjects objects;
};
/// kInvalid: "addon", "now" (where there is one) or "objects" are not of their form.
Result<ScenarioInput> read_scenario(const Json& scenario);

/// An object as recorded answers have it: without what a server sets (uid, generation, resourceVersion, deletionTimestamp, a
/// work's status), conditions sorted by type and supported configs by resource, and without members that are null, empty or 0,
/// which mean the same as absent ones (not inside manifests; a label's or annotation's value may be empty).
Json comparable(const Json& object);

/// {"changed", "deleted", "errors", "requeueAfter"} of a pass: of `changed` what really differs from `before`, sorted by kind,
/// namespace and name, each comparable().
Json pass_answer(const ObjectReader& before, const Pass& pass);

}  // namespace fleetadm::addon
