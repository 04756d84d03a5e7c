// Worlds from plain Kubernetes objects, for the tests of the scheduler.
#pragma once

#include <string>
#include <string_view>

#include "core/placement/decode.h"
#include "core/placement/world.h"

namespace fleetadm::test {

/// Puts a ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, PlacementDecision or AddOnPlacementScore into the world.
inline void put_object(placement::World& world, const Json& object) {
  const std::string kind = str(object, {"kind"});
  if (kind == "ManagedCluster") world.put(placement::decode_cluster(object));
  if (kind == "ManagedClusterSet") world.put(placement::decode_set(object));
  if (kind == "ManagedClusterSetBinding") world.put(placement::decode_binding(object));
  if (kind == "PlacementDecision") world.put(placement::decode_decision(object));
  if (kind == "AddOnPlacementScore") world.put(placement::decode_score(object));
}

}  // namespace fleetadm::test
