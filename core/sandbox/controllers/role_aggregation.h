// Fills in aggregated ClusterRoles (docs/reference/kubernetes-access.md#rbac).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/sandbox/controllers/controller.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm::sandbox {

/// Every write of a ClusterRole leads to sync(), and few concern an aggregated one: it remembers by their revisions what each was
/// made of, and parses no role while those stay the same. One thread at a time.
class RoleAggregation {
 public:
  void sync(const ControllerContext& context);

 private:
  using Revisions = std::vector<std::pair<std::string, std::int64_t>>;  // of roles, by name
  struct Known {
    std::int64_t revision = 0;
    std::optional<std::vector<LabelSelector>> selectors;  // nothing: the role aggregates no others
    Revisions sources;
  };
  void aggregate(const ControllerContext& context, const Kind& kind, const Item& role, const Snapshot& roles);
  bool unchanged(const Known& known, const Snapshot& roles) const;

  std::map<std::string, Known> known_;  // roles that may aggregate others, by name
  std::int64_t seen_ = 0;               // what was written later was not looked at
};

}  // namespace fleetadm::sandbox
