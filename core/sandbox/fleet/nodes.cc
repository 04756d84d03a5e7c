#include "core/sandbox/fleet/nodes.h"

#include <algorithm>

#include "core/sandbox/node/node.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/sleep.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kNodeRetry = std::chrono::seconds(2);
/// Of all nodes. As many as they can use where they are few, so that one that hangs on a partition delays no other.
constexpr std::size_t kMostWorkers = 32;

Status serve_node(const Result<kube::Kubeconfig>& kubeconfig, const NodeOptions& options, const std::stop_token& stop) {
  if (!kubeconfig) return fail(kubeconfig.error());
  kube::ConfigOverrides which;
  which.context = options.name;
  which.interactive = false;
  FLEETADM_TRY(const auto config, kubeconfig->resolve(which));
  return run_node(config, kube::Client::connect(config).with_stop(stop), options, stop);
}

}  // namespace

std::filesystem::path FleetNodes::log_folder(const SandboxHome& home, const std::string& sandbox, const std::string& cluster) {
  return home.folder(sandbox) / "pods" / cluster;
}

FleetNodes::FleetNodes(const SandboxHome& home, const FleetNodesOptions& options) {
  const auto pool = std::make_shared<controller::WorkerPool>(std::min(options.clusters.size() * kNodeThreads, kMostWorkers));
  const auto reaper = std::make_shared<Reaper>();
  kube::ConfigOverrides file;
  file.kubeconfig = home.kubeconfig(options.sandbox).string();
  file.interactive = false;
  // Read once: that of a thousand clusters is long.
  const auto kubeconfig = std::make_shared<const Result<kube::Kubeconfig>>(kube::Kubeconfig::load(file));
  for (const auto& cluster : options.clusters) {
    NodeOptions node;
    node.pool = pool;
    node.reaper = reaper;
    node.name = options.sandbox + "-" + cluster;
    node.log_folder = log_folder(home, options.sandbox, cluster).string();
    node.executable = options.executable;
    if (const auto table = options.containers.find(cluster); table != options.containers.end()) node.containers = table->second;
    threads_.emplace_back([kubeconfig, node](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const Status served = serve_node(*kubeconfig, node, stop);
        if (stop.stop_requested()) return;
        log::warn("node " + node.name, served ? "ended; it is started again" : served.error().message);
        sleep_for(kNodeRetry, stop);
      }
    });
  }
}

FleetNodes::~FleetNodes() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();  // each waits for its processes, all at once
}

}  // namespace fleetadm::sandbox
