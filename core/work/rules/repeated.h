// Objects that one work names more than once. Pure.
#pragma once

#include <vector>

#include "core/work/rules/manifest.h"

namespace fleetadm::work {

/// Lets one manifest stand for all of the work that name the same object (Manifest::same_as), so that they do not undo each
/// other in every round. It says what applying them one after the other would leave: by the Update strategy the last one, with
/// what the strategy keeps of the earlier ones; with server-side apply the last one alone; with CreateOnly the first.
void unite_repeated(const Json& work, std::vector<Manifest>& manifests);

}  // namespace fleetadm::work
