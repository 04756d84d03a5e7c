// Whether the clusters that decisions name are in a cluster set that is bound to the placement's namespace. The scheduler sees to
// that for its own; decisions can be written by others, and must not lead works to clusters that their namespace may not use.
#pragma once

#include <memory>
#include <string>

#include "core/controller/controller.h"
#include "core/work/rules/replica_set_rules.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

class BoundSets {
 public:
  /// Adds informers for clusters (names and labels), sets and bindings. Before Manager::run().
  BoundSets(controller::Manager& manager, const kube::Client& hub);
  /// A cluster in the view of a placement that is registered on the hub and in none of the placement's bound sets; empty: there
  /// is none.
  std::string outsider(const Json& of, const PlacementView& view) const;

 private:
  std::shared_ptr<kube::Informer> clusters_;
  std::shared_ptr<kube::Informer> sets_;
  std::shared_ptr<kube::Informer> bindings_;
};

}  // namespace fleetadm::work
