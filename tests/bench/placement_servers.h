// The end-to-end part of bench_placement: one kube-apiserver a run, on it one scheduler after the other with the same placements
// that wait for it, and the time from its start until each of them has its decisions and conditions; then the latency from a
// label to the decision.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "core/placement/hub/controller.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/watch/informer.h"
#include "tests/bench/in_parallel.h"
#include "tests/bench/placement_engine.h"
#include "tests/support/placement_lab.h"

namespace fleetadm::bench {

using testkit::PlacementLab;

inline constexpr const char* kNamespace = "benchmark";
inline constexpr const char* kSet = "benchmark";

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

struct ServerRun {
  int clusters = 0;
  int placements = 0;
  int samples = 40;  // of the latency
  Duration limit = std::chrono::minutes(4);
};

/// Samples of the latency end after this time, too: a scheduler that takes seconds for each gives fewer.
inline constexpr auto kSampling = std::chrono::seconds(60);

struct ServerFigures {
  double seconds = 0;  // from the scheduler's start until every placement has decisions and conditions, or the limit
  std::size_t done = 0;
  std::vector<double> latencies;  // ms
  bool lost = false;              // a label did not reach the decision in kSampling; the last latency is that time
  std::size_t least = 0;          // decisions that a cluster has
  std::size_t most = 0;
  double cpu = 0;       // s, the scheduler's process until all was done
  double peak_mib = 0;  // the same

  double rate() const { return static_cast<double>(done) / seconds; }
};

inline double status_mebibytes(pid_t pid, const std::string& member) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(member)) return std::strtod(line.c_str() + member.size(), nullptr) / 1024.0;
  }
  return 0;
}

inline double cpu_seconds(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// One server and its fleet; schedulers come and go.
class Arena {
 public:
  static Result<std::unique_ptr<Arena>> start(const ServerRun& run) {
    std::unique_ptr<Arena> arena(new Arena(run));
    FLEETADM_TRY(arena->lab_, PlacementLab::start());
    PlacementLab& lab = *arena->lab_;
    FLEETADM_CHECK(lab.put({{"kind", "ManagedClusterSet"}, {"metadata", {{"name", kSet}}}, {"spec", Json::object()}}));
    FLEETADM_CHECK(lab.put({{"kind", "ManagedClusterSetBinding"},
                            {"metadata", {{"name", kSet}, {"namespace", kNamespace}}},
                            {"spec", {{"clusterSet", kSet}}}}));
    FLEETADM_CHECK(
        in_parallel(run.clusters, [&](int i) { return arena->create(api::managed_clusters(), "", bench_cluster(i)); }));
    // A server refuses the first watch of a type for a second, whoever asks.
    FLEETADM_TRY([[maybe_unused]] const Json scores, arena->client().list(api::addon_placement_scores(), ""));
    return arena;
  }

  /// What the server takes of the writes that a placement needs (a decision, its entries, the placement's status), from a few
  /// plain clients without any scheduler: placements a second.
  Result<double> write_rate() {
    constexpr int kProbe = 400;
    FLEETADM_CHECK(make_placements(kProbe));
    return probe();
  }

  /// The same beside the watches that a scheduler needs and those of the benchmark: both cost the server as much as a write.
  Result<double> write_rate_beside_watches() {
    constexpr int kProbe = 400;
    FLEETADM_CHECK(make_placements(kProbe));
    Observer observer(client());
    std::vector<std::shared_ptr<kube::Informer>> informers;
    for (const kube::Resource* resource : {&api::placements(), &api::placement_decisions()}) {
      informers.push_back(kube::Informer::make(client(), *resource));
      informers.back()->start();
    }
    for (const auto& informer : informers) {
      if (!informer->wait_synced(std::chrono::seconds(20))) return fail(Category::kTimeout, "a watch did not begin in time");
    }
    Result<double> rate = probe();
    for (const auto& informer : informers) informer->stop();
    return rate;
  }

  Result<ServerFigures> measure(PlacementLab::Scheduler scheduler) {
    FLEETADM_CHECK(make_placements(run_.placements));
    ServerFigures figures;
    {
      Observer observer(client());
      const auto begin = Timer::now();
      FLEETADM_CHECK(start_scheduler(scheduler));
      const auto end = observer.all_done(static_cast<std::size_t>(run_.placements), run_.limit);
      figures.done = observer.done();
      figures.seconds = std::chrono::duration<double>((end ? *end : Timer::now()) - begin).count();
      figures.cpu = cpu_seconds(lab_->pid());
      figures.peak_mib = status_mebibytes(lab_->pid(), "VmHWM:");
    }
    FLEETADM_CHECK(count_decisions(figures));
    if (figures.done == static_cast<std::size_t>(run_.placements)) FLEETADM_CHECK(sample(figures));
    lab_->stop();
    FLEETADM_CHECK(clear());
    return figures;
  }

 private:
  explicit Arena(const ServerRun& run) : run_(run) {}

  Result<double> probe() {
    FLEETADM_TRY(const Json placements, client().list(api::placements(), kNamespace));
    const Json& items = list_at(placements, {"items"});
    const auto begin = Timer::now();
    FLEETADM_CHECK(in_parallel(static_cast<int>(items.size()),
                               [&](int i) { return write_as_a_scheduler(items[static_cast<std::size_t>(i)]); }));
    const double seconds = milliseconds_since(begin) / 1000;
    FLEETADM_CHECK(clear());
    return static_cast<double>(items.size()) / seconds;
  }
  const kube::Client& client() const { return lab_->client(); }

  Status create(const kube::Resource& resource, const char* ns, Json object) const {
    object["apiVersion"] = resource.api_version();
    FLEETADM_TRY([[maybe_unused]] const Json made, client().create(resource, ns, object));
    return {};
  }

  /// The requests that a placement costs a scheduler, ours and upstream's alike: the same objects, labels, owners and conditions.
  Status write_as_a_scheduler(const Json& placement) const {
    kube::WriteOptions status;
    status.subresource = "status";
    const std::string name = name_of(placement);
    const std::string decision = name + "-decision-1";
    const Json labels{{std::string(api::kPlacementLabel), name},
                      {std::string(placement::kGroupIndexLabel), "0"},
                      {std::string(placement::kGroupNameLabel), ""}};
    const Json owner{{"apiVersion", api::placements().api_version()},
                     {"kind", "Placement"},
                     {"name", name},
                     {"uid", uid_of(placement)},
                     {"controller", true},
                     {"blockOwnerDeletion", true}};
    const Json metadata{
        {"name", decision}, {"namespace", kNamespace}, {"labels", labels}, {"ownerReferences", Json::array({owner})}};
    FLEETADM_CHECK(create(api::placement_decisions(), kNamespace, {{"kind", "PlacementDecision"}, {"metadata", metadata}}));
    Json entries = Json::array();
    for (int i = 0; i < 10; ++i) entries.push_back({{"clusterName", "cluster" + std::to_string(i)}, {"reason", ""}});
    FLEETADM_TRY([[maybe_unused]] const Json filled,
                 client().patch(api::placement_decisions(), kNamespace, decision, kube::PatchType::kMerge,
                                {{"status", {{"decisions", std::move(entries)}}}}, status));
    const auto condition = [](const char* type, const char* value, const char* reason, const char* message) {
      return Json{{"type", type},
                  {"status", value},
                  {"reason", reason},
                  {"message", message},
                  {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
    };
    const Json conditions =
        Json::array({condition("PlacementMisconfigured", "False", "Succeedconfigured", "Placement configurations check pass"),
                     condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "All cluster decisions scheduled")});
    const Json group{
        {"decisionGroupIndex", 0}, {"decisionGroupName", ""}, {"clusterCount", 10}, {"decisions", Json::array({decision})}};
    FLEETADM_TRY([[maybe_unused]] const Json told,
                 client().patch(
                     api::placements(), kNamespace, name, kube::PatchType::kMerge,
                     {{"status",
                       {{"numberOfSelectedClusters", 10}, {"decisionGroups", Json::array({group})}, {"conditions", conditions}}}},
                     status));
    return {};
  }

  Status make_placements(int count) {
    return in_parallel(count, [&](int i) { return create(api::placements(), kNamespace, bench_placement(i)); });
  }

  // One by one: a collection of thousands takes longer than a server gives one request.
  Status clear() {
    for (const kube::Resource* resource : {&api::placements(), &api::placement_decisions()}) {
      FLEETADM_TRY(const Json left, client().list(*resource, kNamespace));
      const Json& items = list_at(left, {"items"});
      FLEETADM_CHECK(in_parallel(static_cast<int>(items.size()), [&](int i) -> Status {
        auto gone = client().remove(*resource, kNamespace, name_of(items[static_cast<std::size_t>(i)]));
        if (!gone && gone.error().category != Category::kNotFound) return tl::unexpected(std::move(gone).error());
        return {};
      }));
    }
    return {};
  }

  Status start_scheduler(PlacementLab::Scheduler scheduler) {
    if (scheduler != PlacementLab::Scheduler::kOurs) return lab_->run(scheduler);
    return lab_->run_program(std::filesystem::read_symlink("/proc/self/exe").string(),
                             {"--scheduler", lab_->server().kubeconfig_file()});
  }

  Status count_decisions(ServerFigures& figures) const {
    std::map<std::string, std::size_t> by_cluster;
    FLEETADM_TRY(const Json decisions, client().list(api::placement_decisions(), kNamespace));
    for (const Json& object : list_at(decisions, {"items"})) {
      for (const Json& entry : list_at(object, {"status", "decisions"})) ++by_cluster[str(entry, {"clusterName"})];
    }
    figures.least = by_cluster.size() < static_cast<std::size_t>(run_.clusters) ? 0 : SIZE_MAX;
    for (const auto& [cluster, count] : by_cluster) {
      figures.least = std::min(figures.least, count);
      figures.most = std::max(figures.most, count);
    }
    return {};
  }

  // A placement by label in the same set, and one cluster of that set whose label comes and goes.
  Status sample(ServerFigures& figures) {
    Json watcher{{"kind", "Placement"}, {"metadata", {{"name", "by-label"}, {"namespace", kNamespace}}}};
    Json selector{{"labelSelector", {{"matchLabels", {{"wanted", "yes"}}}}}};
    watcher["spec"]["predicates"] = Json::array({{{"requiredClusterSelector", std::move(selector)}}});
    Observer observer(client());
    FLEETADM_CHECK(lab_->put(watcher));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const auto until = Timer::now() + kSampling;
    for (int i = 0; i < run_.samples && Timer::now() < until; ++i) {
      const bool wanted = i % 2 == 0;
      Json label;
      if (wanted) label = "yes";
      const auto from = Timer::now();
      FLEETADM_CHECK(lab_->change("ManagedCluster", "", "cluster7", {{"metadata", {{"labels", {{"wanted", label}}}}}}));
      figures.lost = !observer.has_entries("by-label", wanted ? 1 : 0, kSampling);
      figures.latencies.push_back(milliseconds_since(from));
      if (figures.lost) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return {};
  }

  ServerRun run_;
  std::unique_ptr<PlacementLab> lab_;
};

inline void print_server(const char* label, const ServerRun& run, const ServerFigures& figures, double write_rate,
                         double beside_watches, const ServerFigures* upstream) {
  std::printf("  %-9s %7.1f s %7.0f placements/s (%.0f %% and %.0f %% of the clients), CPU %.1f s, peak %.0f MiB", label,
              figures.seconds, figures.rate(), 100 * figures.rate() / write_rate, 100 * figures.rate() / beside_watches,
              figures.cpu, figures.peak_mib);
  const bool all = figures.done == static_cast<std::size_t>(run.placements);
  if (!all) std::printf(", ONLY %zu DONE IN TIME", figures.done);
  std::printf("; %zu-%zu decisions a cluster\n", figures.least, figures.most);
  Json line{{"bench", "placement-server"},
            {"scheduler", label},
            {"clusters", run.clusters},
            {"placements", run.placements},
            {"seconds", figures.seconds},
            {"done", figures.done},
            {"placementsPerSecond", figures.rate()},
            {"serverWriteRate", write_rate},
            {"serverWriteRateBesideWatches", beside_watches},
            {"cpuSeconds", figures.cpu},
            {"peakMiB", figures.peak_mib}};
  if (!figures.latencies.empty()) {
    const double p50 = percentile(figures.latencies, 0.5);
    const double p99 = percentile(figures.latencies, 0.99);
    std::printf("  %-9s label to decision: p50 %.1f ms, p99 %.1f ms of %zu samples%s\n", "", p50, p99, figures.latencies.size(),
                figures.lost ? "; THE LAST DID NOT ARRIVE" : "");
    line["latencyP50Ms"] = p50;
    line["latencyP99Ms"] = p99;
    line["latencySamples"] = figures.latencies.size();
  }
  if (upstream != nullptr) {
    std::printf("  ratio     fleetadm is %.1f times as fast", figures.rate() / upstream->rate());
    line["timesUpstream"] = figures.rate() / upstream->rate();
    if (!figures.latencies.empty() && !upstream->latencies.empty()) {
      const double p50 = percentile(upstream->latencies, 0.5) / percentile(figures.latencies, 0.5);
      const double p99 = percentile(upstream->latencies, 0.99) / percentile(figures.latencies, 0.99);
      std::printf(", its latency %.1f times as short (p50; p99 %.1f)", p50, p99);
      line["latencyTimesUpstream"] = p50;
    }
    std::printf(", with 1/%.1f of the CPU time and 1/%.1f of the memory\n", upstream->cpu / figures.cpu,
                upstream->peak_mib / figures.peak_mib);
  }
  std::printf("json %s\n", dump_json(line).c_str());
  std::fflush(stdout);
}

inline Status server_report(const ServerRun& run) {
  std::printf("\n%d placements x %d clusters on one kube-apiserver, from the scheduler's start to the last condition\n",
              run.placements, run.clusters);
  std::fflush(stdout);
  FLEETADM_TRY(const auto arena, Arena::start(run));
  FLEETADM_TRY(const double write_rate, arena->write_rate());
  FLEETADM_TRY(const double beside, arena->write_rate_beside_watches());
  std::printf("  the server takes the writes of %.0f placements a second from %d clients, beside watches of %.0f\n", write_rate,
              kClients, beside);
  std::fflush(stdout);
  std::optional<ServerFigures> theirs;
  if (testkit::upstream_placement()) {
    FLEETADM_TRY(theirs, arena->measure(PlacementLab::Scheduler::kUpstream));
    print_server("upstream", run, *theirs, write_rate, beside, nullptr);
  } else {
    std::printf("  upstream  FLEETADM_PEERS names no folder with its placement controller\n");
  }
  FLEETADM_TRY(const ServerFigures ours, arena->measure(PlacementLab::Scheduler::kOurs));
  print_server("fleetadm", run, ours, write_rate, beside, theirs ? &*theirs : nullptr);
  return {};
}

}  // namespace fleetadm::bench
