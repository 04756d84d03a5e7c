// -o tree of works: cluster, work, manifests.
#pragma once

#include <string>
#include <vector>

#include "core/work/rules/progress.h"

namespace fleetadm::commands {

/// A path for each manifest of a work; one that ends at the work where it has none.
std::vector<std::vector<std::string>> work_branches(const work::WorkProgress& progress);

}  // namespace fleetadm::commands
