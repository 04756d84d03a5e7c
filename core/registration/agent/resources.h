// What a cluster can hold: the sums over its nodes (docs/reference/registration.md#status).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::registration::agent {

using Quantities = std::map<std::string, Quantity>;

struct Totals {
  Quantities capacity;     // of all nodes
  Quantities allocatable;  // of the schedulable ones
};

/// Drops everything of a Node but its identity, spec.unschedulable, status.capacity and status.allocatable.
void project_node(Json& node);

/// Values that are no quantities are left out.
void add_node(const Json& node, Totals& totals);

/// Writes the totals into a ManagedCluster's status as canonical text. A value that already says the same in another form stays
/// as it is; capacities that nodes do not report (written by others) stay; allocatable is exactly the totals.
void write_totals(const Totals& totals, Json& status);

}  // namespace fleetadm::registration::agent
