// The scheduler's view of a live hub: changes are noted as they arrive and taken into the FleetState in order, and each change
// names the placements it can affect (docs/reference/placement.md#triggers). A change that no pass could see names none.
// Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/placement/engine/schedule.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::placement {

class SchedulerCache {
 public:
  enum class Kind { kPlacement, kCluster, kSet, kBinding, kDecision, kScore };

  /// Notes that an object is now `after` (null: it is gone, `before` tells which). Cheap: nothing is decoded here.
  void note(Kind kind, kube::CachedPtr before, kube::CachedPtr after);
  /// Takes what was noted into the world. The keys (namespace/name) of the placements that have to run again.
  std::set<std::string> catch_up();
  /// One pass over the world as it is; nullopt: no such placement is known.
  std::optional<Pass> run(const std::string& key, Instant now, const PassOptions& options = {}) const;
  /// The same, with what it was decided from: who writes must not overwrite what the pass has not seen.
  struct Run {
    Pass pass;
    std::string placement_version;                 // resourceVersion
    std::map<std::string, std::string> decisions;  // the placement's own: name → resourceVersion
  };
  std::optional<Run> run_from(const std::string& key, Instant now, const PassOptions& options = {}) const;
  /// What a pass wants is being written, or is not after all (`pass` is null): other placements' Balance counts it meanwhile.
  void reserve(const std::string& key, const Pass* pass);
  /// A pass with records, also for a placement that scheduling is off for: for people who ask why.
  std::optional<Pass> explain(const std::string& key, Instant now, const CelEvaluator* cel) const;
  std::vector<std::string> placements() const;

 private:
  using Keys = std::set<std::string>;
  struct Change {
    Kind kind;
    kube::CachedPtr before;
    kube::CachedPtr after;
  };
  /// What of a set's clusters changed: a placement that reads none of it keeps its result.
  struct Aspects {
    bool every = false;  // clusters came or went, or changed in what every pass reads
    bool cpu = false;
    bool memory = false;
    std::set<std::string> labels;  // keys
    std::set<std::string> claims;
    void add(const Aspects& other);
  };
  static bool concern(const Aspects& aspects, const Placement& placement);
  /// What a batch of changes touches, by the widest name that tells it: thousands of changed clusters are one changed set.
  struct Touched {
    Keys keys;  // placements
    std::map<std::string, Aspects> sets;
    std::map<std::pair<std::string, std::string>, Aspects> bindings;  // (namespace, name)
    std::set<std::pair<std::string, std::string>> scores;             // (set, name of the score)
    std::set<std::string> spaces;  // namespaces whose number of valid bindings changed: it shows in conditions
  };
  void take(const Change& change, Touched& touched);
  void take_placement(const Change& change, Touched& touched);
  void take_cluster(const Change& change, Touched& touched);
  void take_set(const Change& change, Touched& touched);
  void take_binding(const Change& change, Touched& touched);
  void take_decision(const Change& change, Touched& touched);
  void take_score(const Change& change, Touched& touched);
  Keys affected_by(Touched touched) const;

  struct Known {
    Placement placement;
    std::string resource_version;
  };
  using ByName = std::map<std::string, Known, std::less<>>;

  std::mutex inbox_mutex_;
  std::vector<Change> inbox_;
  std::atomic<bool> pending_{false};

  mutable std::shared_mutex mutex_;
  FleetState world_;
  std::map<std::string, ByName, std::less<>> placements_;  // by namespace
};

}  // namespace fleetadm::placement
