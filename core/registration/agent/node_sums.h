// What is told of a cluster's nodes, from one look at each of them.
#pragma once

#include <optional>

#include "core/registration/agent/figures.h"
#include "core/registration/agent/optional_source.h"
#include "core/registration/agent/resources.h"
#include "core/registration/agent/topology.h"

namespace fleetadm::registration::agent {

struct NodeSums {
  Totals totals;
  NodeCount count;
  Topology topology;
};

/// Of nodes that project_placed_node() has projected. A cluster may have thousands: one at a time is decoded. nullopt: not known.
std::optional<NodeSums> sums_of_nodes(const OptionalSource& nodes);

}  // namespace fleetadm::registration::agent
