#include "core/registration/agent/node_sums.h"

namespace fleetadm::registration::agent {

std::optional<NodeSums> sums_of_nodes(const OptionalSource& nodes) {
  NodeSums sums;
  const bool known = nodes.for_each([&sums](const Json& node) {
    add_node(node, sums.totals);
    add_node(node, sums.count);
    add_node(node, sums.topology);
  });
  if (!known) return std::nullopt;
  return sums;
}

}  // namespace fleetadm::registration::agent
