// PlacementDecisions of placements, as reports show them.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

struct ChosenGroup {
  int index = 0;
  std::string name;
  std::vector<std::string> clusters;
};

/// The groups of one placement's decision objects, by index; clusters in the order of the objects.
std::vector<ChosenGroup> groups_of(std::vector<Json> decisions);

/// The decision objects of one placement.
Result<std::vector<Json>> decisions_of(const kube::Client& hub, const std::string& ns, const std::string& placement);

}  // namespace fleetadm::commands
