// Writes works and sets: created, or changed in what the command says and in nothing else.
#pragma once

#include <functional>
#include <string>

#include "commands/framework/targets.h"

namespace fleetadm::commands {

/// What one object has become.
struct Written {
  Json object;
  std::string outcome;  // "created", "configured", "unchanged"
};

/// Creates `wanted`, or (with `overwrite`; else it is kConflict where that would change anything) gives the existing object its
/// manifests and leaves the rest of the spec to whoever set it. `manifests_of`: the member of spec that has the workload, empty
/// for the spec itself. `check` may refuse to change an object, or change more of it.
Result<Written> write_work(const kube::Client& hub, const kube::Resource& resource, const Json& wanted,
                           std::string_view manifests_of, bool overwrite, const std::string& what,
                           const std::function<Status(Json&)>& check);

/// `split_of`: the label of a part; empty: none.
Json work_object(const std::string& name, const std::string& cluster, const Json& manifests, const std::string& split_of);
Json set_object(const std::string& name, const PlacementRef& placement, const Json& manifests, const std::string& split_of);

/// A work that a set has made is changed through the set.
Status not_of_a_set(const Json& work);

}  // namespace fleetadm::commands
