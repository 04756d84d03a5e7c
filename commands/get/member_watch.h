// get RESOURCE --clusters … -w: changes on many clusters as they happen.
#pragma once

#include <string>
#include <vector>

#include "commands/get/member_reader.h"

namespace fleetadm::commands {

/// Prints what changes after what `reader` has read, until told to stop. Clusters that have not answered are asked again and
/// again; those without the type are left alone.
void watch_members(Context& context, const kube::Client& gateway, const std::vector<std::string>& clusters,
                   const MemberQuery& query, const MemberReader& reader, bool namespaces);

}  // namespace fleetadm::commands
