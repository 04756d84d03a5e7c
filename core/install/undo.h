// Taking back what a run that failed has made.
#pragma once

#include <string_view>
#include <vector>

#include "core/install/install.h"

namespace fleetadm::install {

/// Deletes, the last one first, the objects that `changes` tells as created and that still carry the part's label. What cannot be
/// deleted is left, and told by its name.
std::vector<std::string> undo_created(const kube::Client& client, std::string_view part, const std::vector<Change>& changes);

}  // namespace fleetadm::install
