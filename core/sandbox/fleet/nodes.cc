#include "core/sandbox/fleet/nodes.h"

#include <algorithm>

#include "kubeclient/base/log.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kNodeRetry = std::chrono::seconds(2);
/// Of all nodes. As many as they can use where they are few, so that one that hangs on a partition delays no other.
constexpr std::size_t kMostWorkers = 56;
constexpr std::size_t kHostedThreads = 8;  // that a program of a node which is hosted uses at a time
constexpr int kStartsAtOnce = 4;

kube::ConfigOverrides of_sandbox(const SandboxHome& home, const std::string& sandbox) {
  kube::ConfigOverrides file;
  file.kubeconfig = home.kubeconfig(sandbox).string();
  file.interactive = false;
  return file;
}

}  // namespace

std::filesystem::path FleetNodes::log_folder(const SandboxHome& home, const std::string& sandbox, const std::string& cluster) {
  return home.folder(sandbox) / "pods" / cluster;
}

FleetNodes::FleetNodes(const SandboxHome& home, const FleetNodesOptions& options)
    : pool_(std::make_shared<controller::WorkerPool>(
          std::min(options.clusters.size() * (kNodeThreads + (options.host ? kHostedThreads : 0)), kMostWorkers))),
      kubeconfig_(kube::Kubeconfig::load(of_sandbox(home, options.sandbox))),
      starts_(std::make_shared<controller::Scheduler>()) {
  const auto reaper = std::make_shared<Reaper>();
  controller::ControllerOptions starts;
  starts.name = "nodes";
  starts.workers = kStartsAtOnce;
  starts.resync_keys = options.clusters;
  starts_->add_lane(std::move(starts), [this](const std::string& cluster, const std::stop_token& /*stop*/) {
    return start_one(nodes_.at(cluster));
  });
  for (const auto& cluster : options.clusters) {
    NodeOptions node;
    node.pool = pool_;
    if (options.host) node.host = [pool = pool_, host = options.host](const ChildSpec& spec) { return host(spec, pool); };
    node.reaper = reaper;
    node.name = options.sandbox + "-" + cluster;
    node.log_folder = log_folder(home, options.sandbox, cluster).string();
    node.executable = options.executable;
    if (const auto table = options.containers.find(cluster); table != options.containers.end()) node.containers = table->second;
    nodes_[cluster].options = std::move(node);
  }
  starts_->start(pool_, kStartsAtOnce);
}

Result<controller::Outcome> FleetNodes::start_one(One& one) {
  const auto try_it = [&]() -> Status {
    if (!kubeconfig_) return fail(kubeconfig_.error());
    kube::ConfigOverrides which;
    which.context = one.options.name;
    which.interactive = false;
    FLEETADM_TRY(const auto config, kubeconfig_->resolve(which));
    FLEETADM_TRY(one.running, start_node(config, kube::Client::connect(config).with_stop(stop_.get_token()), one.options));
    return {};
  };
  const Status started = try_it();
  if (started || stop_.stop_requested()) return controller::Outcome{};
  log::warn("node " + one.options.name, started.error().message);
  return controller::Outcome{kNodeRetry};
}

FleetNodes::~FleetNodes() {
  stop_.request_stop();
  starts_->stop();
  for (auto& [cluster, node] : nodes_) {
    if (node.running) node.running->terminate();
  }
  nodes_.clear();  // each waits for its processes, which end all at once
}

}  // namespace fleetadm::sandbox
