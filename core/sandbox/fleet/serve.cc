#include "core/sandbox/fleet/serve.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "core/sandbox/fleet/cluster.h"
#include "core/sandbox/fleet/nodes.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kWorkers = 6;

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
           {"cluster",
            {{"server", cluster->url()}, {"certificate-authority-data", pki::base64_encode(cluster->ca().certificate)}}}});
      put(document["users"], {{"name", name}, {"user", std::move(user)}});
      put(document["contexts"], {{"name", name}, {"context", {{"cluster", name}, {"user", name}}}});
    }
    document["current-context"] = sandbox + "-hub";
    return {};
  });
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
  Json description = {{"name", options.name}, {"ephemeral", options.ephemeral}, {"clusters", Json::array()}};
  FLEETADM_CHECK(home.write_description(options.name, before.is_object() ? before : description));
  FLEETADM_TRY(const auto lock, ProcessLock::take(home.folder(options.name) / "process.lock"));
  HttpRuntime runtime(kWorkers);
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (const auto& name : cluster_names(options.clusters)) {
    ClusterOptions cluster;
    cluster.name = name;
    if (!options.ephemeral) cluster.folder = home.folder(options.name) / name;
    for (const Json& known : list_at(before, {"clusters"})) {
      if (str(known, {"name"}) == name) cluster.port = static_cast<int>(num(known, {"port"}));
    }
    auto started = Cluster::start(runtime, cluster);
    if (!started && started.error().category == Category::kUnavailable && cluster.port != 0) {
      cluster.port = 0;  // somebody else has the port now
      started = Cluster::start(runtime, cluster);
    }
    if (!started) return tl::unexpected(started.error().wrap("cluster " + name));
    description["clusters"].push_back({{"name", name}, {"port", (*started)->port()}, {"server", (*started)->url()}});
    clusters.push_back(std::move(*started));
  }
  FLEETADM_CHECK(write_kubeconfig(home, options.name, clusters));
  FLEETADM_CHECK(home.write_description(options.name, description));
  std::optional<FleetNodes> nodes;
  if (options.nodes) nodes.emplace(home, FleetNodesOptions{options.name, cluster_names(options.clusters), options.executable});
  ready();
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock waiting(mutex);
  stopped.wait(waiting, stop, [] { return false; });
  nodes.reset();
  clusters.clear();
  runtime.stop();
  return {};
}

}  // namespace fleetadm::sandbox
