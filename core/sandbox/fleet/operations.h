// What other commands may ask of a running sandbox's process (control.h):
//
//   {"do": "fault-add", "fault": {…}}                        → {"id": "f1"}
//   {"do": "fault-list"}                                     → {"items": [{…, "strikes": 3, "left": "12s"}]}
//   {"do": "fault-clear", "ids": […], "clusters": […]}       → {"cleared": ["f1"]}
//   {"do": "load", "cluster": "c1", "objects": […]}          → see load.h
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/sandbox/fault/board.h"
#include "core/sandbox/fleet/cluster.h"

namespace fleetadm::sandbox {

/// All on one thread. What it is made with must outlive it.
class Operations {
 public:
  Operations(std::shared_ptr<FaultBoard> faults, const std::vector<std::unique_ptr<Cluster>>& clusters)
      : faults_(std::move(faults)), clusters_(clusters) {}

  Result<Json> run(const Json& request);
  /// Brings every cluster to what its faults say; when to do so again without a request.
  std::optional<std::chrono::steady_clock::time_point> follow_faults();

 private:
  Result<Json> add_fault(const Json& request);
  Json list_faults();
  Json clear_faults(const Json& request);
  Result<Cluster*> cluster(const std::string& name) const;

  std::shared_ptr<FaultBoard> faults_;
  const std::vector<std::unique_ptr<Cluster>>& clusters_;
};

}  // namespace fleetadm::sandbox
