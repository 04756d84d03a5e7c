// The scheduler's view of a live hub: changes are noted as they arrive and taken into the World in order, and each change names
// the placements it can affect (reference placement-and-rollout.md A.11.1). A change that no pass could see names none.
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

#include "core/placement/schedule.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::placement {

class Fleet {
 public:
  enum class Kind { kPlacement, kCluster, kSet, kBinding, kDecision, kScore };

  /// Notes that an object is now `after` (null: it is gone, `before` tells which). Cheap: nothing is decoded here.
  void note(Kind kind, kube::CachedPtr before, kube::CachedPtr after);
  /// Takes what was noted into the world. The keys (namespace/name) of the placements that have to run again.
  std::set<std::string> catch_up();
  /// One pass over the world as it is; nullopt: no such placement is known.
  std::optional<Pass> run(const std::string& key, Instant now, const PassOptions& options = {}) const;
  std::vector<std::string> placements() const;

 private:
  using Keys = std::set<std::string>;
  struct Change {
    Kind kind;
    kube::CachedPtr before;
    kube::CachedPtr after;
  };
  void take(const Change& change, Keys& affected);
  void take_placement(const Change& change, Keys& affected);
  void take_cluster(const Change& change, Keys& affected);
  void take_set(const Change& change, Keys& affected);
  void take_binding(const Change& change, Keys& affected);
  void take_decision(const Change& change, Keys& affected);
  void take_score(const Change& change, Keys& affected);

  using Filter = bool (*)(const Placement&);
  void affected_by_binding(std::string_view ns, std::string_view name, Keys& affected, Filter filter = nullptr) const;
  void affected_by_set(std::string_view set, Keys& affected, Filter filter = nullptr) const;

  std::mutex inbox_mutex_;
  std::vector<Change> inbox_;
  std::atomic<bool> pending_{false};

  mutable std::shared_mutex mutex_;
  World world_;
  std::map<std::string, std::map<std::string, Placement, std::less<>>, std::less<>> placements_;  // namespace → name
};

}  // namespace fleetadm::placement
