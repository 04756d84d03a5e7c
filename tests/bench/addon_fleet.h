// The fleet that bench_addon plays: its clusters with their placement, their agents, and who watches their add-ons from outside.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/controller/controller.h"
#include "core/work/rules/names.h"
#include "kubeclient/watch/informer.h"
#include "tests/bench/addon_objects.h"
#include "tests/bench/in_parallel.h"
#include "tests/bench/work_process.h"
#include "tests/support/work_agents.h"

namespace fleetadm::bench {

inline std::string cluster_of(int i) { return "cluster-" + std::to_string(i); }

/// Writes as a client without caches; answers the object.
inline Result<Json> patch_status(const kube::Client& client, const kube::Resource& resource, const std::string& ns,
                                 const std::string& name, Json status) {
  kube::WriteOptions options;
  options.subresource = "status";
  return client.patch(resource, ns, name, kube::PatchType::kMerge, {{"status", std::move(status)}}, options);
}

/// Clusters that are accepted and available, all of them selected by one placement.
class AddonFleet {
 public:
  /// `hub_decides`: a hub runs that makes the clusters' namespaces and leases, and schedules; else all that is made here.
  AddonFleet(kube::Client hub, int clusters, bool hub_decides)
      : hub_(std::move(hub)), clusters_(clusters), hub_decides_(hub_decides) {}

  int clusters() const { return clusters_; }

  Status add_clusters() const {
    FLEETADM_CHECK(in_parallel(clusters_, [&](int i) { return add_cluster(i); }));
    if (!have_namespaces()) return fail(Category::kTimeout, "the hub did not make a namespace for each cluster");
    FLEETADM_CHECK(in_parallel(clusters_, [&](int i) { return renew_lease(i); }));
    return in_parallel(clusters_, [&](int i) { return report_available(i); });
  }

  /// A placement of all clusters, with its decisions.
  Status place() const {
    FLEETADM_CHECK(add_namespace(kSpace));
    const Json binding{{"apiVersion", api::managed_cluster_set_bindings().api_version()},
                       {"kind", "ManagedClusterSetBinding"},
                       {"metadata", {{"name", api::kGlobalClusterSet}, {"namespace", kSpace}}},
                       {"spec", {{"clusterSet", api::kGlobalClusterSet}}}};
    FLEETADM_TRY([[maybe_unused]] const Json bound, hub_.create(api::managed_cluster_set_bindings(), kSpace, binding));
    const Json placement{
        {"apiVersion", api::placements().api_version()},
        {"kind", "Placement"},
        {"metadata", {{"name", kEverywhere}, {"namespace", kSpace}}},
        {"spec", {{"clusterSets", {api::kGlobalClusterSet}}, {"tolerations", Json::array({{{"operator", "Exists"}}})}}}};
    FLEETADM_TRY([[maybe_unused]] const Json placed, hub_.create(api::placements(), kSpace, placement));
    if (!hub_decides_) FLEETADM_CHECK(decide());
    const auto selected = [&] {
      const auto now = hub_.get(api::placements(), kSpace, kEverywhere);
      return now && num(*now, {"status", "numberOfSelectedClusters"}) == clusters_;
    };
    if (!testkit::eventually(selected, std::chrono::minutes(5), std::chrono::milliseconds(200)))
      return fail(Category::kTimeout, "the placement did not select all clusters");
    return {};
  }

  Status renew_lease(int i) const {
    const std::string name(api::kClusterLease);
    const Json renewed{{"renewTime", format_micro_time(Clock::system()->now())}};
    const Json lease{{"apiVersion", kube::resources::leases().api_version()},
                     {"kind", "Lease"},
                     {"metadata", {{"name", name}, {"namespace", cluster_of(i)}}},
                     {"spec", renewed}};
    FLEETADM_TRY([[maybe_unused]] const Json there, hub_.create_or_get(kube::resources::leases(), cluster_of(i), lease));
    FLEETADM_TRY([[maybe_unused]] const Json now,
                 hub_.patch(kube::resources::leases(), cluster_of(i), name, kube::PatchType::kMerge, {{"spec", renewed}}));
    return {};
  }

 private:
  Status add_cluster(int i) const {
    if (!hub_decides_) FLEETADM_CHECK(add_namespace(cluster_of(i)));
    const Json cluster{{"apiVersion", api::managed_clusters().api_version()},
                       {"kind", "ManagedCluster"},
                       {"metadata", {{"name", cluster_of(i)}}},
                       {"spec", {{"hubAcceptsClient", true}}}};
    FLEETADM_TRY([[maybe_unused]] const Json made, hub_.create(api::managed_clusters(), {}, cluster));
    return {};
  }

  Status report_available(int i) const {
    const auto report = [](Json& cluster) -> Status {
      Json& conditions = at_or_make(cluster, {"status", "conditions"});
      for (const std::string_view type : {api::kConditionHubAccepted, api::kConditionJoined, api::kConditionAvailable})
        controller::set_condition(conditions, type, "True", "Played", "", Clock::system()->now());
      return {};
    };
    FLEETADM_TRY([[maybe_unused]] const Json told, hub_.modify(api::managed_clusters(), {}, cluster_of(i), report, "status"));
    return {};
  }

  Status add_namespace(const std::string& name) const {
    const Json space{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
    FLEETADM_TRY([[maybe_unused]] const Json made, hub_.create(kube::resources::namespaces(), {}, space));
    return {};
  }

  bool have_namespaces() const {
    return testkit::eventually(
        [&] {
          const auto all = hub_.list(kube::resources::namespaces(), {});
          if (!all) return false;
          const auto is_clusters = [](const Json& ns) { return name_of(ns).starts_with("cluster-"); };
          const Json& items = list_at(*all, {"items"});
          return std::count_if(items.begin(), items.end(), is_clusters) >= clusters_;
        },
        std::chrono::minutes(5), std::chrono::milliseconds(500));
  }

  /// What a scheduler writes: a hundred clusters in each decision.
  Status decide() const {
    constexpr int kEach = 100;
    Json names = Json::array();
    for (int from = 0; from < clusters_; from += kEach) {
      const std::string name = std::string(kEverywhere) + "-decision-" + std::to_string(from / kEach + 1);
      names.push_back(name);
      const Json decision{{"apiVersion", api::placement_decisions().api_version()},
                          {"kind", "PlacementDecision"},
                          {"metadata",
                           {{"name", name},
                            {"namespace", kSpace},
                            {"labels",
                             {{std::string(api::kPlacementLabel), kEverywhere},
                              {"cluster.open-cluster-management.io/decision-group-index", "0"},
                              {"cluster.open-cluster-management.io/decision-group-name", ""}}}}}};
      FLEETADM_TRY([[maybe_unused]] const Json made, hub_.create(api::placement_decisions(), kSpace, decision));
      Json entries = Json::array();
      for (int i = from; i < std::min(from + kEach, clusters_); ++i)
        entries.push_back({{"clusterName", cluster_of(i)}, {"reason", ""}});
      FLEETADM_TRY([[maybe_unused]] const Json filled,
                   patch_status(hub_, api::placement_decisions(), kSpace, name, {{"decisions", std::move(entries)}}));
    }
    const Json group{{"decisionGroupIndex", 0}, {"decisionGroupName", ""}, {"clusterCount", clusters_}, {"decisions", names}};
    FLEETADM_TRY([[maybe_unused]] const Json told,
                 patch_status(hub_, api::placements(), kSpace, kEverywhere,
                              {{"numberOfSelectedClusters", clusters_}, {"decisionGroups", Json::array({group})}}));
    return {};
  }

  kube::Client hub_;
  int clusters_;
  bool hub_decides_;
};

/// The agents of all clusters at once. Each new generation of an add-on's work is told to be applied and available as soon as a
/// thread is free, with the writes of an agent: its finalizer, then the status. Each cluster's lease is renewed once a minute.
class AddonAgents {
 public:
  AddonAgents(kube::Client hub, const AddonFleet& fleet)
      : hub_(std::move(hub)), fleet_(fleet), works_(kube::Informer::make(hub_, api::manifest_works(), of_addons())) {
    works_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (after) enqueue(after->key());
    });
    for (int i = 0; i < kClients; ++i) threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
    threads_.emplace_back([this](const std::stop_token& stop) { renew_leases(stop); });
    works_->start();
  }
  ~AddonAgents() {
    works_->stop();
    for (auto& thread : threads_) thread.request_stop();
  }
  AddonAgents(const AddonAgents&) = delete;
  AddonAgents& operator=(const AddonAgents&) = delete;

 private:
  static kube::InformerOptions of_addons() {
    kube::InformerOptions which;
    which.label_selector = std::string(api::kAddonNameLabel);
    return which;
  }

  void enqueue(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (queued_.insert(key).second) waiting_.push_back(key);
    ready_.notify_one();
  }

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
      const kube::CachedPtr work = works_->get(key);
      if (work && !answer(key, work->decode())) enqueue(key);
    }
  }

  /// False: it has to be tried again.
  bool answer(const std::string& key, const Json& work) {
    const std::int64_t generation = num(work, {"metadata", "generation"});
    {
      const std::lock_guard lock(mutex_);
      std::int64_t& answered = answered_[key];
      if (answered >= generation) return true;
      answered = generation;
    }
    Status done = write(work);
    if (done || done.error().category == Category::kNotFound) return true;
    const std::lock_guard lock(mutex_);
    answered_[key] = 0;
    return false;
  }

  Status write(const Json& work) const {
    const std::string ns = namespace_of(work);
    const std::string name = name_of(work);
    if (list_at(work, {"metadata", "finalizers"}).empty()) {
      const Json ours{{"metadata", {{"finalizers", Json::array({work::kWorkFinalizer})}}}};
      FLEETADM_TRY([[maybe_unused]] const Json held, hub_.patch(api::manifest_works(), ns, name, kube::PatchType::kMerge, ours));
    }
    FLEETADM_TRY([[maybe_unused]] const Json told,
                 patch_status(hub_, api::manifest_works(), ns, name, testkit::applied_work_status(work)));
    return {};
  }

  void renew_leases(const std::stop_token& stop) const {
    const auto pause = std::chrono::duration<double>(60.0 / fleet_.clusters());
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    for (int i = 0; !stop.stop_requested(); i = (i + 1) % fleet_.clusters()) {
      (void)fleet_.renew_lease(i);  // the next round tries again
      ended.wait_for(lock, stop, pause, [] { return false; });
    }
  }

  kube::Client hub_;
  const AddonFleet& fleet_;
  std::shared_ptr<kube::Informer> works_;
  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<std::string> waiting_;
  std::set<std::string> queued_;
  std::map<std::string, std::int64_t> answered_;  // work → generation
  std::vector<std::jthread> threads_;
};

/// Notes when a watch shows each add-on available, and how far the upgrade is.
class AddonObserver {
 public:
  AddonObserver(const kube::Client& hub, std::string upgraded_template)
      : upgraded_template_(std::move(upgraded_template)),
        addons_(kube::Informer::make(hub, api::managed_cluster_addons_v1beta1())) {
    addons_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
      if (after) note(after->key(), after->decode());
    });
    addons_->start();
  }
  ~AddonObserver() { addons_->stop(); }
  AddonObserver(const AddonObserver&) = delete;
  AddonObserver& operator=(const AddonObserver&) = delete;

  int available() const { return size_of(available_); }
  /// The most add-ons that were on the way to the upgraded template at a time.
  int most_on_the_way() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(most_on_the_way_);
  }
  /// Of the last event of an add-on.
  Timer::time_point last_event() const {
    const std::lock_guard lock(mutex_);
    return last_event_;
  }

  /// Until so many are available; when the last of them was.
  std::optional<Timer::time_point> all_available(int count, Duration timeout) { return all(available_, count, timeout); }
  /// Until so many have the upgraded template and are available.
  std::optional<Timer::time_point> all_upgraded(int count, Duration timeout) { return all(upgraded_, count, timeout); }
  /// Until no add-on has changed for a while.
  void at_rest(Duration quiet, Duration timeout) const {
    (void)testkit::eventually([&] { return Timer::now() - last_event() >= quiet; }, timeout);
  }

 private:
  using Keys = std::set<std::string>;

  int size_of(const Keys& keys) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(keys.size());
  }

  std::optional<Timer::time_point> all(const Keys& keys, int count, Duration timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return static_cast<int>(keys.size()) >= count; })) return std::nullopt;
    return last_event_;
  }

  static void put(Keys& keys, const std::string& key, bool in) {
    if (in) {
      keys.insert(key);
    } else {
      keys.erase(key);
    }
  }

  void note(const std::string& key, const Json& addon) {
    const bool available = controller::condition_is(addon, "Available", "True");
    bool wanted = false;
    bool applied = false;
    for (const Json& reference : list_at(addon, {"status", "configReferences"})) {
      wanted = wanted || str(reference, {"desiredConfig", "name"}) == upgraded_template_;
      applied = applied || str(reference, {"lastAppliedConfig", "name"}) == upgraded_template_;
    }
    const std::lock_guard lock(mutex_);
    last_event_ = Timer::now();
    put(available_, key, available);
    put(upgraded_, key, available && applied);
    put(on_the_way_, key, wanted && !applied);
    most_on_the_way_ = std::max(most_on_the_way_, on_the_way_.size());
    changed_.notify_all();
  }

  std::string upgraded_template_;
  std::shared_ptr<kube::Informer> addons_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Keys available_;
  Keys upgraded_;
  Keys on_the_way_;
  std::size_t most_on_the_way_ = 0;
  Timer::time_point last_event_ = Timer::now();
};

}  // namespace fleetadm::bench
