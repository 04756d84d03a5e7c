// The work engine on a spoke: ManifestWorks of the cluster's namespace on the hub are applied here and stay applied; what
// happened goes back into their status (docs/reference/work.md). Safe to kill after any write.
#pragma once

#include <memory>
#include <string>

#include "core/controller/controller.h"
#include "core/work/agent/work_source.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

struct WorkAgentOptions {
  std::string cluster;     // the managed cluster's name: the works' namespace on the hub
  std::string hub_server;  // the `server` of the hub kubeconfig, exactly as written there: its hash names what is applied
  std::string agent_id;    // stable over restarts; empty: the hub hash
  std::shared_ptr<Clock> clock = Clock::system();
  int workers = 4;
  /// How long the objects of a work that is missing on the hub stay. 100 years or more: for ever.
  Duration eviction_grace = std::chrono::minutes(60);
  /// Availability of objects that cannot be watched is read this often (× [1, 1.9)).
  Duration poll_interval = std::chrono::seconds(10);
  /// Everything is looked at again this often (× [1, 1.5)), although watches tell of changes.
  Duration resync = std::chrono::minutes(4);
  /// Feedback values that are no scalar are sent as JSON (gate RawFeedbackJsonString), up to this many bytes.
  bool raw_feedback = false;
  std::size_t max_raw_length = 1024;
};

/// Adds the controllers to `manager`: "work" (keys: work names) and "applied-work" (keys: AppliedManifestWork names).
void add_work_controllers(controller::Manager& manager, std::shared_ptr<WorkSource> works, const kube::Client& spoke,
                          const WorkAgentOptions& options);
/// With the works of the hub's API server.
void add_work_controllers(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                          const WorkAgentOptions& options);

}  // namespace fleetadm::work
