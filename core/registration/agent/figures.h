// What the nodes and pods of a cluster add up to, by the scheduler's own arithmetic
// (docs/reference/registration.md#push-members).
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/api/member_state.h"
#include "core/registration/agent/resources.h"
#include "kubeclient/base/cached_object.h"
#include "kubeclient/base/json.h"

namespace fleetadm::registration::agent {

using api::kAllocatedPrefix;
using api::kAllocatingPrefix;
using api::kNodesPrefix;

/// What the scheduler reserves for a pod: its containers and sidecars, or the largest moment of its init containers, or what is
/// said of the pod as a whole, and its overhead.
Quantities requests_of(const Json& pod);

/// Leaves of a Pod its identity, its requests, and whether it has a node; of one that has ended nothing that counts.
void project_pod(Json& pod);
/// project_node(), and whether the node is ready.
void project_counted_node(Json& node);

struct NodeCount {
  std::int64_t total = 0;
  std::int64_t ready = 0;
};
void add_node(const Json& projected, NodeCount& count);

/// The sums over projected pods, as these come and go. Thread-safe.
class PodSums {
 public:
  /// `before` is null for one that comes, `after` for one that goes.
  void take(const kube::CachedPtr& before, const kube::CachedPtr& after);
  struct Sums {
    Quantities allocated;
    Quantities allocating;
  };
  /// What is zero is left out.
  Sums sums() const;
  /// The same number for the same sums.
  std::uint64_t revision() const;

 private:
  void add(const Json& pod, bool comes);

  mutable std::mutex mutex_;
  Sums sums_;
  std::uint64_t revision_ = 0;
};

/// Writes them into a ManagedCluster's status, in place of those that are there.
void write_figures(const NodeCount& nodes, const PodSums::Sums& pods, Json& status);
/// Takes them away: nobody counts any more.
void forget_figures(Json& status);

}  // namespace fleetadm::registration::agent
