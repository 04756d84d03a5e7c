// What a change takes away from clusters: the works that ManifestWorkReplicaSets keep where placements select, decided by the
// scheduler's own engine before and after the change. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/placement/engine/simulate.h"

namespace fleetadm::work {

/// What a placement selects without and with the change.
struct SelectionChange {
  placement::Objects::Key placement;  // namespace, name
  bool exists_before = false;
  bool exists_after = false;
  std::set<std::string> before;  // decided today, or about to be
  std::set<std::string> after;

  std::vector<std::string> added() const;
  std::vector<std::string> removed() const;
};

/// One work that a cluster loses.
struct LostWork {
  /// kRemoved: deleted with its objects. kAbandoned: it stays, but its set does nothing for it because a placement is missing.
  enum class Effect { kRemoved, kAbandoned } effect = Effect::kRemoved;
  std::string cluster;
  std::string work;
  std::string set;  // "namespace/name" of its ManifestWorkReplicaSet; empty: it is not of a set

  /// What people call it: the set, else the work.
  const std::string& title() const { return set.empty() ? work : set; }
};

struct Impact {
  std::size_t clusters = 0;                 // on the hub, before the change
  std::vector<LostWork> lost;               // by cluster, then work
  std::vector<SelectionChange> placements;  // those whose selection changes

  bool none() const { return lost.empty(); }
  /// "2 of 3 clusters (c1, c2) would lose 1 work (apps/web)"; empty where nothing is lost.
  std::string sentence() const;
};

/// The placements that the sets refer to (whether they exist or not), each once.
std::vector<placement::Objects::Key> placements_of(const std::vector<Json>& sets);

/// One for each of the placements. A placement on which the change has no influence keeps what it has, also where its decisions
/// are out of date: what the scheduler does there anyway is not the change's doing.
std::vector<SelectionChange> selection_changes(const placement::Objects& today, const placement::Objects& changed,
                                               const std::vector<placement::Objects::Key>& placements, Instant now,
                                               const placement::PassOptions& options);

/// `works`: of any sets, as the hub has them (metadata is enough); those that are being deleted do not count. `placements` has
/// one for each that the sets refer to.
std::vector<LostWork> lost_works(const std::vector<Json>& sets, const std::vector<Json>& works,
                                 const std::vector<SelectionChange>& placements);

/// The losses of a cluster that leaves: every work in its namespace.
void add_all_works(const std::string& cluster, const std::vector<Json>& works, std::vector<LostWork>& lost);

/// At most five names, and how many more there are: "c1, c2 and 3 more" (several names without "and").
std::string some_names(const std::set<std::string>& names);

}  // namespace fleetadm::work
