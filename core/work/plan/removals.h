// What a change of works takes away from clusters.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::work {

/// What a change would take away.
struct Removals {
  std::set<std::string> clusters;  // that lose the work
  std::int64_t objects = 0;        // that the agents would delete, over all clusters
  std::int64_t of = 0;             // clusters that the share is of; 0: the hub's
};

/// How many objects go when a work goes, or (with `kept`: their manifest_identity()) when it keeps only these.
std::int64_t deleted_objects(const Json& work_spec, const std::set<std::string>& kept = {});

}  // namespace fleetadm::work
