// The process behind a sandbox: all its clusters on one I/O thread.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/sandbox/fleet/home.h"
#include "core/sandbox/fleet/nodes.h"

namespace fleetadm::sandbox {

struct ServeOptions {
  std::string name;
  int clusters = 1;  // spokes beside the hub
  bool ephemeral = false;
  bool nodes = false;      // a process node for each cluster
  std::string executable;  // what the nodes' containers of fleetadm's image run
  HostOnPool host;         // of those of them that need no process; empty: all are processes
};

/// The names of a sandbox's clusters: "hub", "c1", ….
std::vector<std::string> cluster_names(int clusters);

/// Starts every cluster, writes sandbox.json and the kubeconfig, calls `ready`, and serves until `stop`. Clusters and ports of an
/// earlier run are kept. kConflict where it is served already.
Status serve_sandbox(const SandboxHome& home, const ServeOptions& options, const std::function<void()>& ready,
                     std::stop_token stop);

}  // namespace fleetadm::sandbox
