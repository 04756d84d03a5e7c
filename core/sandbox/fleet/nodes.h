// A node for each cluster of a sandbox, served by the sandbox's own process: what is installed on a cluster runs.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/controller/scheduler.h"
#include "core/sandbox/fleet/home.h"
#include "core/sandbox/node/node.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::sandbox {

/// Starts a program on the pool of the nodes (Host).
using HostOnPool = std::function<Result<std::unique_ptr<HostedProgram>>(const ChildSpec& spec,
                                                                        const std::shared_ptr<controller::WorkerPool>& pool)>;

struct FleetNodesOptions {
  std::string sandbox;
  std::vector<std::string> clusters;                                  // by name; the sandbox's kubeconfig is written
  std::string executable;                                             // what containers of fleetadm's image run
  std::map<std::string, std::shared_ptr<ContainerTable>> containers;  // by cluster: is told of what runs there
  HostOnPool host;  // of programs that need no process; empty: all are processes
};

/// Serves until it is destroyed, which ends the pods' processes. All nodes work on one pool of threads. A node that cannot be
/// started is logged and tried again.
class FleetNodes {
 public:
  FleetNodes(const SandboxHome& home, const FleetNodesOptions& options);
  ~FleetNodes();
  FleetNodes(const FleetNodes&) = delete;
  FleetNodes& operator=(const FleetNodes&) = delete;

  /// <home>/<sandbox>/pods/<cluster>: the output of the cluster's containers.
  static std::filesystem::path log_folder(const SandboxHome& home, const std::string& sandbox, const std::string& cluster);

 private:
  struct One {
    NodeOptions options;
    std::unique_ptr<RunningNode> running;
  };
  Result<controller::Outcome> start_one(One& one);

  std::shared_ptr<controller::WorkerPool> pool_;
  Result<kube::Kubeconfig> kubeconfig_;  // read once: that of a thousand clusters is long
  std::stop_source stop_;                // of the nodes' requests
  std::map<std::string, One> nodes_;     // by cluster; each is its key's alone while the scheduler runs
  std::shared_ptr<controller::Scheduler> starts_;
};

}  // namespace fleetadm::sandbox
