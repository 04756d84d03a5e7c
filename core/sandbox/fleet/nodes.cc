#include "core/sandbox/fleet/nodes.h"

#include "core/sandbox/node/node.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/sleep.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kNodeRetry = std::chrono::seconds(2);

Status serve_node(const std::string& kubeconfig, const std::string& context, const NodeOptions& options,
                  const std::stop_token& stop) {
  kube::ConfigOverrides which;
  which.kubeconfig = kubeconfig;
  which.context = context;
  which.interactive = false;
  FLEETADM_TRY(const auto config, kube::load_rest_config(which));
  return run_node(config, kube::Client::connect(config).with_stop(stop), options, stop);
}

}  // namespace

std::filesystem::path FleetNodes::log_folder(const SandboxHome& home, const std::string& sandbox, const std::string& cluster) {
  return home.folder(sandbox) / "pods" / cluster;
}

FleetNodes::FleetNodes(const SandboxHome& home, const FleetNodesOptions& options) {
  for (const auto& cluster : options.clusters) {
    NodeOptions node;
    node.name = options.sandbox + "-" + cluster;
    node.log_folder = log_folder(home, options.sandbox, cluster).string();
    node.executable = options.executable;
    if (const auto table = options.containers.find(cluster); table != options.containers.end()) node.containers = table->second;
    threads_.emplace_back([kubeconfig = home.kubeconfig(options.sandbox).string(), node](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const Status served = serve_node(kubeconfig, node.name, node, stop);
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
