// What is known of the fleet: every input of a scheduling pass but the placement and the time, kept up to date one object at a
// time, with what passes ask for derived as objects arrive (members of sets, decisions by placement, decision counts). No locks:
// readers may share a World as long as nobody writes.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/placement/types.h"

namespace fleetadm::placement {

/// A cluster's name as a small number, stable while anything mentions the name.
using Slot = std::uint32_t;

class World {
 public:
  void put(Cluster cluster);
  void remove_cluster(std::string_view name);
  void put(Set set);
  void remove_set(std::string_view name);
  void put(Binding binding);
  void remove_binding(std::string_view ns, std::string_view name);
  void put(Decision decision);
  void remove_decision(std::string_view ns, std::string_view name);
  void put(Score score);
  void remove_score(std::string_view ns, std::string_view name);

  std::size_t slots() const { return slots_.size(); }
  const std::string& name_of(Slot slot) const { return slots_[slot].name; }
  /// nullptr where no such cluster exists (only decisions or scores mention it).
  const Cluster* cluster(Slot slot) const { return slots_[slot].cluster.get(); }
  const Cluster* cluster(std::string_view name) const;
  /// How many decision entries of the whole fleet name the cluster.
  std::int64_t decision_count(Slot slot) const { return slots_[slot].decisions; }
  const Score* score(Slot slot, std::string_view resource) const;

  const Set* set(std::string_view name) const;
  /// Whether the set takes the cluster; false for sets with an error.
  static bool takes(const Set& set, const Cluster& cluster);
  /// Why the set cannot say its members: an unknown selector type or an invalid selector; empty: it can.
  static std::string set_error(const Set& set);
  std::vector<std::string> sets_of(const Cluster& cluster) const;
  const std::map<std::string, Set, std::less<>>& sets() const { return sets_; }

  /// Bindings of a namespace, by name.
  const std::map<std::string, Binding, std::less<>>& bindings(std::string_view ns) const;
  /// Every binding's (namespace, name) whose spec.clusterSet is the set.
  std::vector<std::pair<std::string, std::string>> bindings_of_set(std::string_view set) const;

  /// A decision as slots: duplicates and unknown clusters included.
  struct KnownDecision {
    std::string placement;
    std::string group_name;
    std::string group_index;
    std::vector<Slot> clusters;
  };
  /// The decisions with the placement's label in its namespace, by name.
  std::map<std::string_view, const KnownDecision*> own_decisions(std::string_view ns, std::string_view placement) const;

  std::size_t cluster_count() const { return cluster_count_; }
  /// A rough figure for the benchmarks.
  std::size_t approximate_bytes() const;

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<const Cluster> cluster;
    std::int64_t decisions = 0;
    std::map<std::string, Score, std::less<>> scores;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Keyed = std::pair<std::string, std::string>;

  Slot slot_for(std::string_view name);
  void release(Slot slot);

  std::vector<Entry> slots_;
  std::vector<Slot> free_;
  std::unordered_map<std::string, Slot, Hash, std::equal_to<>> by_name_;
  std::size_t cluster_count_ = 0;
  std::map<std::string, Set, std::less<>> sets_;
  std::map<std::string, std::map<std::string, Binding, std::less<>>, std::less<>> bindings_;
  std::map<std::string, std::set<Keyed>, std::less<>> bindings_by_set_;
  std::map<std::string, std::map<std::string, KnownDecision, std::less<>>, std::less<>> decisions_;  // namespace → name
  std::map<Keyed, std::set<std::string>> decisions_by_placement_;  // (namespace, label) → names
};

}  // namespace fleetadm::placement
