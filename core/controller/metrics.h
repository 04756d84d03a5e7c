// Prometheus text of what a Manager counts.
#pragma once

#include <string>
#include <vector>

#include "core/controller/scheduler.h"

namespace fleetadm::controller {

struct InformerStats {
  std::string resource;  // "managedclusters.cluster.open-cluster-management.io"
  std::size_t objects = 0;
  bool synced = false;
};

/// A label's value between its quotes.
std::string metric_label(const std::string& text);

/// Text exposition format 0.0.4. `resident_bytes` 0: unknown, left out.
std::string render_metrics(const std::vector<LaneStats>& lanes, const std::vector<InformerStats>& informers,
                           std::uint64_t resident_bytes);

/// Resident memory of this process in bytes; 0 where it cannot be read.
std::uint64_t resident_bytes();

}  // namespace fleetadm::controller
