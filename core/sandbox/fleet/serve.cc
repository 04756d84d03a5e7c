#include "core/sandbox/fleet/serve.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <sys/resource.h>
#include <thread>

#include "core/sandbox/fleet/cluster.h"
#include "core/sandbox/fleet/control.h"
#include "core/sandbox/fleet/memory.h"
#include "core/sandbox/fleet/nodes.h"
#include "core/sandbox/fleet/operations.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kBetweenTidying = std::chrono::seconds(15);  // of memory
constexpr std::size_t kWorkers = 6;
constexpr std::size_t kStarters = 32;

void put(Json& list, Json entry) {
  if (!list.is_array()) list = Json::array();
  for (Json& one : list) {
    if (str(one, {"name"}) == str(entry, {"name"})) {
      one = std::move(entry);
      return;
    }
  }
  list.push_back(std::move(entry));
}

Status write_kubeconfig(const SandboxHome& home, const std::string& sandbox,
                        const std::vector<std::unique_ptr<Cluster>>& clusters) {
  return kube::modify_kubeconfig(home.kubeconfig(sandbox).string(), [&](Json& document) -> Status {
    document = {{"apiVersion", "v1"}, {"kind", "Config"}, {"preferences", Json::object()}};
    for (const auto& cluster : clusters) {
      const auto name = sandbox + "-" + cluster->name();
      FLEETADM_TRY(Json user, cluster->admin_user());
      put(document["clusters"],
          {{"name", name},
           {"cluster", {{"server", cluster->url()}, {"certificate-authority-data", base64_encode(cluster->ca().certificate)}}}});
      put(document["users"], {{"name", name}, {"user", std::move(user)}});
      put(document["contexts"], {{"name", name}, {"context", {{"cluster", name}, {"user", name}}}});
    }
    document["current-context"] = sandbox + "-hub";
    return {};
  });
}

/// A cluster has three files open, and its clients' connections: a thousand need more than a shell's usual limit.
void allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<std::unique_ptr<Cluster>> start_cluster(serve::HttpRuntime& runtime, ClusterOptions options) {
  auto started = Cluster::start(runtime, options);
  if (!started && started.error().category == Category::kUnavailable && options.port != 0) {
    options.port = 0;  // somebody else has the port now
    started = Cluster::start(runtime, options);
  }
  if (!started) return tl::unexpected(started.error().wrap("cluster " + options.name));
  return started;
}

/// All of them, on more threads than the machine runs: keys and files have to reach the disk, and what waits for it at the same
/// time waits once. The first failure ends it.
Result<std::vector<std::unique_ptr<Cluster>>> start_clusters(serve::HttpRuntime& runtime, const SandboxHome& home,
                                                             const ServeOptions& options, const Json& before,
                                                             const FleetNodesOptions& fleet,
                                                             const std::shared_ptr<FaultBoard>& faults) {
  std::map<std::string, int> ports;
  for (const Json& known : list_at(before, {"clusters"})) ports[str(known, {"name"})] = static_cast<int>(num(known, {"port"}));
  const auto& names = fleet.clusters;
  std::vector<std::unique_ptr<Cluster>> clusters(names.size());
  const auto timers = std::make_shared<Timers>();
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failed;
  const auto start_some = [&] {
    for (auto i = next++; i < names.size(); i = next++) {
      ClusterOptions cluster;
      cluster.name = names[i];
      cluster.faults = faults;
      cluster.timers = timers;
      if (const auto table = fleet.containers.find(names[i]); table != fleet.containers.end()) cluster.containers = table->second;
      if (const auto port = ports.find(names[i]); port != ports.end()) cluster.port = port->second;
      if (!options.ephemeral) cluster.folder = home.folder(options.name) / names[i];
      auto started = start_cluster(runtime, std::move(cluster));
      if (started) {
        clusters[i] = std::move(*started);
        continue;
      }
      const std::lock_guard lock(mutex);
      if (!failed) failed = std::move(started).error();
      next = names.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kStarters, names.size()); ++i) threads.emplace_back(start_some);
  }
  if (failed) return fail(std::move(*failed));
  return clusters;
}

}  // namespace

std::vector<std::string> cluster_names(int clusters) {
  std::vector<std::string> out = {"hub"};
  for (int i = 1; i <= clusters; ++i) out.push_back("c" + std::to_string(i));
  return out;
}

Status serve_sandbox(const SandboxHome& home, const ServeOptions& options, const std::function<void()>& ready,
                     std::stop_token stop) {
  const Json before = home.description(options.name);
  Json description = {{"name", options.name},
                      {"ephemeral", options.ephemeral},
                      {"nodes", options.nodes},
                      {"agentsInProcess", bool(options.host)},
                      {"clusters", Json::array()}};
  FLEETADM_CHECK(home.write_description(options.name, before.is_object() ? before : description));
  FLEETADM_TRY(const auto lock, ProcessLock::take(home.folder(options.name) / "process.lock"));
  serve::HttpRuntime runtime(kWorkers);
  const auto faults = std::make_shared<FaultBoard>();
  allow_descriptors();
  FleetNodesOptions fleet{options.name, cluster_names(options.clusters), options.executable, {}, options.host};
  if (options.nodes) {
    for (const auto& name : fleet.clusters) fleet.containers[name] = std::make_shared<ContainerTable>();
  }
  FLEETADM_TRY(auto clusters, start_clusters(runtime, home, options, before, fleet, faults));
  for (const auto& cluster : clusters) {
    description["clusters"].push_back({{"name", cluster->name()}, {"port", cluster->port()}, {"server", cluster->url()}});
    log::info(0, cluster->name(), "serves " + cluster->url());
  }
  Operations operations(faults, clusters);
  FLEETADM_TRY(auto control, ControlServer::start(
                                 home.folder(options.name), [&](const Json& request) { return operations.run(request); },
                                 [&] { return operations.follow_faults(); }));
  FLEETADM_CHECK(write_kubeconfig(home, options.name, clusters));
  FLEETADM_CHECK(home.write_description(options.name, description));
  std::optional<FleetNodes> nodes;
  if (options.nodes) nodes.emplace(home, fleet);
  ready();
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock waiting(mutex);
  SpareMemory spare;
  while (!stop.stop_requested()) {
    stopped.wait_for(waiting, stop, kBetweenTidying, [] { return false; });
    spare.give_back();
  }
  nodes.reset();
  control.reset();
  clusters.clear();
  runtime.stop();
  log::info(0, "sandbox", "stopped");
  return {};
}

}  // namespace fleetadm::sandbox
