// Sums over projected nodes, as tests write these down.
#pragma once

#include <vector>

#include "core/registration/agent/node_sums.h"

namespace fleetadm::testkit {

/// Totals, NodeCount or Topology of them.
template <class Sum>
Sum sum_of(const std::vector<Json>& nodes) {
  Sum sum;
  for (const Json& node : nodes) registration::agent::add_node(node, sum);
  return sum;
}

}  // namespace fleetadm::testkit
