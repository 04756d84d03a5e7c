// One hub and its controllers as a process, many clusters whose agents are played by this one: rollouts of a replica set.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/work/rules/conditions.h"
#include "kubeclient/watch/informer.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

/// Agents of all clusters at once: each new generation of a work is applied and available as soon as a thread is free.
class LightAgents {
 public:
  explicit LightAgents(const kube::Client& hub) : hub_(hub), works_(kube::Informer::make(hub, api::manifest_works())) {
    works_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (!after) return;
      const std::lock_guard lock(mutex_);
      if (queued_.insert(after->key()).second) waiting_.push_back(after->key());
      ready_.notify_one();
    });
    for (int i = 0; i < 4; ++i) threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
    works_->start();
  }
  ~LightAgents() {
    works_->stop();
    for (auto& thread : threads_) thread.request_stop();
  }
  LightAgents(const LightAgents&) = delete;
  LightAgents& operator=(const LightAgents&) = delete;

  /// How often a work's generation was told to be applied, since the agents began.
  int answered() const { return answered_; }

 private:
  void serve(const std::stop_token& stop) {
    while (true) {
      std::string key;
      {
        std::unique_lock lock(mutex_);
        if (!ready_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        key = std::move(waiting_.front());
        waiting_.pop_front();
        queued_.erase(key);
      }
      if (const kube::CachedPtr work = works_->get(key)) answer(work->decode());
    }
  }

  void answer(const Json& work) {
    const std::int64_t generation = num(work, {"metadata", "generation"});
    const Json* applied = work::condition_in(list_at(work, {"status", "conditions"}), "Applied");
    if (applied != nullptr && num(*applied, {"observedGeneration"}) == generation) return;
    Json conditions = Json::array();
    for (const char* type : {"Applied", "Available"}) {
      conditions.push_back({{"type", type},
                            {"status", "True"},
                            {"reason", "Played"},
                            {"message", ""},
                            {"lastTransitionTime", format_time(Clock::system()->now())},
                            {"observedGeneration", generation}});
    }
    kube::WriteOptions options;
    options.subresource = "status";
    if (hub_.patch(api::manifest_works(), namespace_of(work), name_of(work), kube::PatchType::kMerge,
                   Json{{"status", {{"conditions", std::move(conditions)}}}}, options))
      ++answered_;
  }

  kube::Client hub_;
  std::shared_ptr<kube::Informer> works_;
  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<std::string> waiting_;
  std::set<std::string> queued_;
  std::atomic<int> answered_ = 0;
  std::vector<std::jthread> threads_;
};

inline Json rollout_template(const std::string& value) {
  Json manifests = Json::array();
  for (int k = 0; k < 5; ++k) {
    manifests.push_back({{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", {{"name", "page-" + std::to_string(k)}, {"namespace", "default"}}},
                         {"data", {{"v", value}, {"key", std::string(200, 'x')}}}});
  }
  return {{"workload", {{"manifests", std::move(manifests)}}}};
}

class RolloutRun {
 public:
  RolloutRun(kube::Client hub, int clusters) : hub_(std::move(hub)), clusters_(clusters) {}

  Status add_clusters() const {
    std::atomic<int> next = 0;
    std::atomic<bool> failed = false;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          for (int i = next++; i < clusters_; i = next++) {
            const Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                               {"kind", "ManagedCluster"},
                               {"metadata", {{"name", "cluster-" + std::to_string(i)}}},
                               {"spec", {{"hubAcceptsClient", true}}}};
            if (!hub_.create(api::managed_clusters(), {}, cluster)) failed = true;
          }
        });
      }
    }
    if (failed) return fail(Category::kInternal, "a cluster could not be created");
    const bool settled = testkit::eventually(
        [&] {
          const auto all = hub_.list(kube::resources::namespaces(), {});
          return all && list_at(*all, {"items"}).size() >= static_cast<std::size_t>(clusters_);
        },
        std::chrono::minutes(2), std::chrono::milliseconds(500));
    if (!settled) return fail(Category::kTimeout, "the hub did not make a namespace for each cluster");
    return {};
  }

  Status add_set() const {
    const Json binding{{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                       {"kind", "ManagedClusterSetBinding"},
                       {"metadata", {{"name", "global"}, {"namespace", "apps"}}},
                       {"spec", {{"clusterSet", "global"}}}};
    FLEETADM_TRY([[maybe_unused]] const Json bound, hub_.create(api::managed_cluster_set_bindings(), "apps", binding));
    const Json placement{{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                         {"kind", "Placement"},
                         {"metadata", {{"name", "all"}, {"namespace", "apps"}}},
                         {"spec", {{"clusterSets", {"global"}}, {"tolerations", Json::array({{{"operator", "Exists"}}})}}}};
    FLEETADM_TRY([[maybe_unused]] const Json placed, hub_.create(api::placements(), "apps", placement));
    const auto selected = [&] {
      const auto now = hub_.get(api::placements(), "apps", "all");
      return now && num(*now, {"status", "numberOfSelectedClusters"}) == clusters_;
    };
    if (!testkit::eventually(selected, std::chrono::minutes(2), std::chrono::milliseconds(200)))
      return fail(Category::kTimeout, "the placement did not select all clusters");
    return {};
  }

  /// From the write of the set until every cluster has this revision and the set says that it is rolled out: seconds.
  Result<double> roll(const LightAgents& agents, const std::string& value) const {
    const Json strategy{{"type", "Progressive"}, {"progressive", {{"maxConcurrency", "10%"}}}};
    const Json set{{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
                   {"kind", "ManifestWorkReplicaSet"},
                   {"metadata", {{"name", "web"}, {"namespace", "apps"}}},
                   {"spec",
                    {{"placementRefs", Json::array({{{"name", "all"}, {"rolloutStrategy", strategy}}})},
                     {"manifestWorkTemplate", rollout_template(value)}}}};
    const auto begin = Timer::now();
    const int before = agents.answered();
    FLEETADM_TRY([[maybe_unused]] const Json written, hub_.apply(api::manifest_work_replica_sets(), set));
    std::string last;
    const auto done = [&] {
      if (agents.answered() - before < clusters_) return false;  // what the set says may be of the revision before
      const auto now = hub_.get(api::manifest_work_replica_sets(), "apps", "web");
      if (!now) return false;
      last = dump_json(object_at(*now, {"status"}));
      const Json* rolled = controller::find_condition(*now, "PlacementRolledOut");
      return rolled != nullptr && str(*rolled, {"status"}) == "True" && num(*now, {"status", "summary", "total"}) == clusters_ &&
             num(*now, {"status", "summary", "applied"}) == clusters_;
    };
    if (!testkit::eventually(done, std::chrono::minutes(2), std::chrono::milliseconds(20)))
      return fail(Category::kTimeout, "the rollout did not end in time: " + last);
    const double took = seconds_since(begin);
    // Success is what a later read agrees with.
    FLEETADM_TRY(const Json works, hub_.list(api::manifest_works(), {}));
    int current = 0;
    for (const Json& work : list_at(works, {"items"})) {
      const Json& manifests = list_at(work, {"spec", "workload", "manifests"});
      if (!manifests.empty() && str(manifests[0], {"data", "v"}) == value) ++current;
    }
    if (current != clusters_) return fail(Category::kInternal, std::to_string(current) + " clusters have the new revision");
    return took;
  }

 private:
  kube::Client hub_;
  int clusters_;
};

/// `rollout status -w` of the rollout that has ended, again and again: milliseconds each.
inline Result<std::vector<double>> status_runs(const testkit::KubeServer& server, int runs) {
  sandbox::ChildSpec spec;
  spec.program = testkit::Fleet::binary();
  spec.args = {"rollout", "status", "web", "-n", "apps", "-w", "--kubeconfig", server.kubeconfig_file()};
  spec.environment = {"HOME=" + server.folder().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (server.folder() / "status.log").string();
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = Timer::now();
    FLEETADM_TRY(auto status, sandbox::Child::start(spec));
    const auto ended = status.wait(std::chrono::minutes(1));
    if (!ended) return fail(Category::kTimeout, "rollout status -w did not end within a minute");
    if (ended->code != 0) {
      const std::string said = testkit::read_file(spec.output_file);
      return fail(Category::kInternal, "rollout status -w ended with " + std::to_string(ended->code) + ": " +
                                           said.substr(said.size() - std::min<std::size_t>(said.size(), 2000)));
    }
    times.push_back(milliseconds_since(begin));
  }
  return times;
}

inline Result<Figures> run_rollout(int clusters) {
  FLEETADM_TRY(auto server, testkit::KubeServer::start({.name = "hub", .controller_manager = false}));
  FLEETADM_TRY(const kube::Client client, client_of(*server));
  FLEETADM_CHECK(install_types(client, "crds/hub/", install::kHubPart));
  FLEETADM_CHECK(create_namespace(*server, "apps"));
  sandbox::ChildSpec spec;
  spec.program = testkit::Fleet::binary();
  spec.args = {"hub", "run", "--kubeconfig", server->kubeconfig_file(), "--leader-elect=false"};
  spec.environment = {"HOME=" + server->folder().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (server->folder() / "hub.log").string();
  FLEETADM_TRY(auto hub, sandbox::Child::start(spec));
  std::this_thread::sleep_for(std::chrono::seconds(8));
  Figures figures;
  const auto memory = [&](const std::string& name) {
    figures.set(name + "_rss_mib", mebibytes(hub.pid(), "VmRSS:"));
    figures.set(name + "_anonymous_mib", mebibytes(hub.pid(), "RssAnon:"));
  };
  memory("idle");
  const RolloutRun run(client, clusters);
  FLEETADM_CHECK(run.add_clusters());
  FLEETADM_CHECK(run.add_set());
  std::this_thread::sleep_for(std::chrono::seconds(3));
  memory("with_clusters");
  const LightAgents agents(client);
  const double cpu = cpu_seconds(hub.pid());
  FLEETADM_TRY(const double first, run.roll(agents, "1"));
  figures.set("first_rollout_s", first);
  FLEETADM_TRY(const double second, run.roll(agents, "2"));
  figures.set("second_rollout_s", second);
  figures.set("rollouts_cpu_s", cpu_seconds(hub.pid()) - cpu);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  memory("settled");
  figures.set("peak_rss_mib", mebibytes(hub.pid(), "VmHWM:"));
  FLEETADM_TRY(const std::vector<double> statuses, status_runs(*server, 200));
  figures.set_sample("status", statuses);
  figures.tell("work-rollout", "fleetadm");
  hub.stop(std::chrono::seconds(10));
  return figures;
}

}  // namespace fleetadm::bench
