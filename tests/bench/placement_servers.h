// The end-to-end part of bench_placement: one kube-apiserver a run, placements that wait for a scheduler, and the time from the
// scheduler's start until each of them has its decisions and conditions; then the latency from a label to the decision.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/api/kinds.h"
#include "kubeclient/watch/informer.h"
#include "tests/bench/placement_engine.h"
#include "tests/support/placement_lab.h"

namespace fleetadm::bench {

using testkit::PlacementLab;

inline constexpr const char* kNamespace = "benchmark";
inline constexpr const char* kSet = "benchmark";

/// Runs `work(0)` … `work(count - 1)` on a few threads; the first failure ends it.
inline Status in_parallel(int count, const std::function<Status(int)>& work) {
  std::atomic<int> next{0};
  std::mutex mutex;
  Status outcome;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = next++; i < count; i = next++) {
        Status done = work(i);
        if (done) continue;
        const std::lock_guard lock(mutex);
        if (outcome) outcome = std::move(done);
        next = count;
      }
    });
  }
  threads.clear();
  return outcome;
}

/// Watches placements and decisions from outside and answers when what is waited for has been seen.
class Observer {
 public:
  explicit Observer(const kube::Client& client)
      : placements_(kube::Informer::make(client, api::placements(), {.ns = kNamespace})),
        decisions_(kube::Informer::make(client, api::placement_decisions(), {.ns = kNamespace})) {
    placements_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (!after) return;
      const Json object = after->decode();
      const std::lock_guard lock(mutex_);
      for (const Json& one : list_at(object, {"status", "conditions"})) {
        if (str(one, {"type"}) == "PlacementSatisfied") satisfied_.insert(name_of(object));
      }
      changed_.notify_all();
    });
    decisions_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (!after) return;
      const Json object = after->decode();
      const std::size_t entries = list_at(object, {"status", "decisions"}).size();
      const std::lock_guard lock(mutex_);
      entries_[label_of(object, api::kPlacementLabel)] = entries;
      if (entries != 0) decided_.insert(label_of(object, api::kPlacementLabel));
      changed_.notify_all();
    });
    placements_->start();
    decisions_->start();
    placements_->wait_synced(std::chrono::seconds(60));
    decisions_->wait_synced(std::chrono::seconds(60));
  }
  ~Observer() {
    placements_->stop();
    decisions_->stop();
  }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Until `count` placements have decisions and conditions; the time at which that was so.
  std::optional<Timer::time_point> all_done(std::size_t count, Duration timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return decided_.size() >= count && satisfied_.size() >= count; }))
      return std::nullopt;
    return Timer::now();
  }
  std::size_t done() const {
    const std::lock_guard lock(mutex_);
    return std::min(decided_.size(), satisfied_.size());
  }
  /// Until a placement's decision has this many entries.
  bool has_entries(const std::string& placement, std::size_t entries, Duration timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return entries_.contains(placement) && entries_[placement] == entries; });
  }

 private:
  std::shared_ptr<kube::Informer> placements_;
  std::shared_ptr<kube::Informer> decisions_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> satisfied_;
  std::set<std::string> decided_;
  std::map<std::string, std::size_t> entries_;
};

/// A cluster of upstream's benchmark: nothing but its set.
inline Json bench_cluster(int number) {
  return {{"kind", "ManagedCluster"},
          {"metadata",
           {{"name", "cluster" + std::to_string(number)}, {"labels", {{"cluster.open-cluster-management.io/clusterset", kSet}}}}},
          {"spec", {{"hubAcceptsClient", true}}}};
}

/// The placement of upstream's benchmark, but for its add-on score, which is the same for all there: ten clusters by CPU and
/// Balance.
inline Json bench_placement(int number) {
  const auto built_in = [](const char* name) {
    return Json{{"scoreCoordinate", {{"type", "BuiltIn"}, {"builtIn", name}}}, {"weight", 1}};
  };
  return {{"kind", "Placement"},
          {"metadata", {{"name", "placement" + std::to_string(number)}, {"namespace", kNamespace}}},
          {"spec",
           {{"numberOfClusters", 10},
            {"prioritizerPolicy",
             {{"mode", "Exact"}, {"configurations", Json::array({built_in("ResourceAllocatableCPU"), built_in("Balance")})}}}}}};
}

struct ServerFigures {
  double seconds = 0;  // from the scheduler's start until every placement has decisions and conditions
  std::size_t done = 0;
  std::vector<double> latencies;  // ms
  std::size_t least = 0;          // decisions that a cluster has
  std::size_t most = 0;
};

/// One fresh server, its fleet, and one scheduler on it.
inline Result<ServerFigures> run_server(PlacementLab::Scheduler scheduler, int clusters, int placements, int samples,
                                        Duration timeout) {
  FLEETADM_TRY(const auto lab, PlacementLab::start());
  FLEETADM_CHECK(lab->put({{"kind", "ManagedClusterSet"}, {"metadata", {{"name", kSet}}}, {"spec", Json::object()}}));
  FLEETADM_CHECK(lab->put({{"kind", "ManagedClusterSetBinding"},
                           {"metadata", {{"name", kSet}, {"namespace", kNamespace}}},
                           {"spec", {{"clusterSet", kSet}}}}));
  const kube::Client& client = lab->client();
  const auto create = [&](const kube::Resource& resource, const char* ns, Json object) -> Status {
    object["apiVersion"] = resource.api_version();
    FLEETADM_TRY([[maybe_unused]] const Json made, client.create(resource, ns, object));
    return {};
  };
  FLEETADM_CHECK(in_parallel(clusters, [&](int i) { return create(api::managed_clusters(), "", bench_cluster(i)); }));
  FLEETADM_CHECK(in_parallel(placements, [&](int i) { return create(api::placements(), kNamespace, bench_placement(i)); }));

  ServerFigures figures;
  Observer observer(client);
  const auto begin = Timer::now();
  FLEETADM_CHECK(lab->run(scheduler));
  const auto end = observer.all_done(static_cast<std::size_t>(placements), timeout);
  figures.done = observer.done();
  figures.seconds = std::chrono::duration<double>((end ? *end : Timer::now()) - begin).count();
  if (!end) return figures;
  std::map<std::string, std::size_t> by_cluster;
  FLEETADM_TRY(const Json decisions, client.list(api::placement_decisions(), kNamespace));
  for (const Json& object : list_at(decisions, {"items"})) {
    for (const Json& entry : list_at(object, {"status", "decisions"})) ++by_cluster[str(entry, {"clusterName"})];
  }
  figures.least = by_cluster.size() < static_cast<std::size_t>(clusters) ? 0 : static_cast<std::size_t>(placements);
  for (const auto& [cluster, count] : by_cluster) {
    figures.least = std::min(figures.least, count);
    figures.most = std::max(figures.most, count);
  }

  // A placement by label in the same set, and one cluster of that set whose label comes and goes.
  Json watcher{{"kind", "Placement"}, {"metadata", {{"name", "by-label"}, {"namespace", kNamespace}}}};
  watcher["spec"]["predicates"] = {{{"requiredClusterSelector", {{"labelSelector", {{"matchLabels", {{"wanted", "yes"}}}}}}}}};
  if (samples > 0) FLEETADM_CHECK(lab->put(watcher));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  for (int i = 0; i < samples; ++i) {
    const bool wanted = i % 2 == 0;
    Json label;
    if (wanted) label = "yes";
    const auto from = Timer::now();
    FLEETADM_CHECK(lab->change("ManagedCluster", "", "cluster7", {{"metadata", {{"labels", {{"wanted", label}}}}}}));
    if (!observer.has_entries("by-label", wanted ? 1 : 0, std::chrono::seconds(30)))
      return fail(Category::kTimeout, "a label's change did not reach the decision in 30 s");
    figures.latencies.push_back(milliseconds_since(from));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return figures;
}

inline void print_server(const char* label, const ServerFigures& figures, int placements, const ServerFigures* ours) {
  std::printf("  %-10s %8.1f s  %8.0f placements/s", label, figures.seconds, static_cast<double>(figures.done) / figures.seconds);
  if (figures.done < static_cast<std::size_t>(placements)) std::printf("  only %zu were done in time", figures.done);
  if (figures.most > 0) std::printf("  %zu-%zu decisions a cluster", figures.least, figures.most);
  if (!figures.latencies.empty()) {
    std::printf("  label to decision: p50 %.1f ms, p99 %.1f ms", percentile(figures.latencies, 0.5),
                percentile(figures.latencies, 0.99));
  }
  if (ours != nullptr) {
    std::printf("  (ours: %.1f times as fast", figures.seconds / ours->seconds);
    if (!figures.latencies.empty() && !ours->latencies.empty())
      std::printf(", latency %.1f times", percentile(figures.latencies, 0.5) / percentile(ours->latencies, 0.5));
    std::printf(")");
  }
  std::printf("\n");
  std::fflush(stdout);
}

inline Status server_report(int clusters, int placements, int samples, Duration timeout) {
  std::printf("\n%d placements x %d clusters on one kube-apiserver, from the scheduler's start to the last condition\n",
              placements, clusters);
  std::fflush(stdout);
  FLEETADM_TRY(const ServerFigures ours, run_server(PlacementLab::Scheduler::kOurs, clusters, placements, samples, timeout));
  print_server("fleetadm", ours, placements, nullptr);
  if (!testkit::upstream_placement()) {
    std::printf("  upstream: FLEETADM_PEERS names no folder with its placement controller\n");
    return {};
  }
  FLEETADM_TRY(const ServerFigures theirs,
               run_server(PlacementLab::Scheduler::kUpstream, clusters, placements, samples, timeout));
  print_server("upstream", theirs, placements, &ours);
  return {};
}

}  // namespace fleetadm::bench
