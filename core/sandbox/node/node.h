// The process node: a Node whose pods are processes of this machine (where the image is fleetadm's own) or mere claims (any
// other image). It is also the scheduler of its cluster. Needs the rights of a cluster administrator.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/controller/worker_pool.h"
#include "core/sandbox/node/containers.h"
#include "core/sandbox/node/hosted.h"
#include "core/sandbox/node/reaper.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::sandbox {

inline constexpr int kNodeThreads = 4;  // at a time, of the pool

struct NodeOptions {
  std::string name;       // a DNS subdomain
  std::string cpu = "4";  // capacity and allocatable, as quantities
  std::string memory = "8Gi";
  std::string log_folder;  // of the pods' output; empty: beside the state, and removed with it
  std::string executable;  // what containers of fleetadm's image run
  Duration first_back_off = std::chrono::seconds(1);
  Duration most_back_off = std::chrono::minutes(1);
  std::shared_ptr<ContainerTable> containers;    // is told of what runs; may be null
  std::shared_ptr<controller::WorkerPool> pool;  // where its controllers work; null: a pool of its own
  std::shared_ptr<Reaper> reaper;                // of the pods' processes; null: one of its own
  Host host;                                     // of programs that need no process; empty: all are processes
};

/// Registers the node and serves it until `stop`; then its processes are ended (SIGTERM, 10 s, SIGKILL). Node and pods stay in
/// the API, as with a machine that is switched off.
Status run_node(const kube::RestConfig& config, const kube::Client& client, const NodeOptions& options, std::stop_token stop);

/// A node that owns no thread: it works on the pool and with the reaper of its options, which must be given.
class RunningNode {
 public:
  virtual ~RunningNode() = default;  // terminate(), and waits until the processes have ended
  RunningNode() = default;
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;
  /// Stops the work and sends SIGTERM to the processes.
  virtual void terminate() = 0;
};
/// Registers the node, and serves it from then on.
Result<std::unique_ptr<RunningNode>> start_node(const kube::RestConfig& config, const kube::Client& client,
                                                const NodeOptions& options);

/// Pure pieces, for tests.
/// The Node object as it registers itself.
Json node_object(const NodeOptions& options, std::string_view version, Instant now);
/// The pod is nobody's yet, asks for the default scheduler, and its nodeSelector and tolerations of NoSchedule fit.
bool wants_node(const Json& pod, const Json& node);
/// Host and port of an API server's URL ("https://[::1]:6443/x" → "::1", "6443").
Result<HostPort> host_and_port(std::string_view url);

}  // namespace fleetadm::sandbox
