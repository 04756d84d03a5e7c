// Works that upstream's agent and ours are both given (docs/reference/work.md), each with what has to be there before, a change,
// and what its report must say in the end.
#pragma once

#include <string>
#include <vector>

namespace fleetadm::testkit {

struct WorkScenario {
  std::string name;     // of the ManifestWork; its objects are called after it, in the namespace "lab"
  std::string spec;     // YAML of spec
  std::string told;     // in the report once it is settled
  std::string changed;  // YAML of spec after the change; empty: none
  std::string told_then;
};

/// Manifests (YAML, one a document) that are on each cluster before any work is.
std::string work_scenario_grounds();
const std::vector<WorkScenario>& work_scenarios();

}  // namespace fleetadm::testkit
