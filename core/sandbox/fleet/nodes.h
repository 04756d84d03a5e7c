// A node for each cluster of a sandbox, served by the sandbox's own process: what is installed on a cluster runs.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/sandbox/fleet/home.h"
#include "core/sandbox/node/containers.h"

namespace fleetadm::sandbox {

struct FleetNodesOptions {
  std::string sandbox;
  std::vector<std::string> clusters;                                  // by name; the sandbox's kubeconfig is written
  std::string executable;                                             // what containers of fleetadm's image run
  std::map<std::string, std::shared_ptr<ContainerTable>> containers;  // by cluster: is told of what runs there
};

/// All nodes work on one pool of threads. Serves until it is destroyed, which ends the pods' processes. A node that cannot go on
/// is logged and tried again.
class FleetNodes {
 public:
  FleetNodes(const SandboxHome& home, const FleetNodesOptions& options);
  ~FleetNodes();
  FleetNodes(const FleetNodes&) = delete;
  FleetNodes& operator=(const FleetNodes&) = delete;

  /// <home>/<sandbox>/pods/<cluster>: the output of the cluster's containers.
  static std::filesystem::path log_folder(const SandboxHome& home, const std::string& sandbox, const std::string& cluster);

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace fleetadm::sandbox
