// What is known of the fleet: every input of a scheduling pass but the placement and the time, kept up to date one object at a
// time, with what passes ask for derived as objects arrive or when first asked for (members of sets, columns of labels and
// scores, decision counts). Readers may share a FleetState as long as nobody writes.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/placement/engine/columns.h"
#include "core/placement/engine/types.h"

namespace fleetadm::placement {

class CelProgram;

class FleetState {
 public:
  FleetState();
  ~FleetState();
  FleetState(FleetState&&) noexcept;
  FleetState& operator=(FleetState&&) noexcept;

  void put(Cluster cluster);
  /// The cluster's object changed in nothing that a stage reads.
  void renew(std::string_view name, WholeObject object);
  void remove_cluster(std::string_view name);
  void put(Set set);
  void remove_set(std::string_view name);
  void put(Binding binding);
  void remove_binding(std::string_view ns, std::string_view name);
  void put(Decision decision);
  void remove_decision(std::string_view ns, std::string_view name);
  /// These decisions of a placement are being written: until they are seen, Balance counts them in place of what is known of the
  /// placement's (so that placements which run side by side do not all choose the same clusters). An empty list takes it back.
  void reserve(std::string_view ns, std::string_view placement, const std::vector<std::vector<std::string>>& clusters);
  void put(Score score);
  void remove_score(std::string_view ns, std::string_view name);

  std::size_t slots() const { return slots_.size(); }
  const std::string& name_of(Slot slot) const { return slots_[slot].name; }
  /// nullptr where no such cluster exists (only decisions or scores mention it).
  const Cluster* cluster(Slot slot) const { return slots_[slot].cluster.get(); }
  const Cluster* cluster(std::string_view name) const;
  /// How many decision entries of the whole fleet name the cluster.
  std::int64_t decision_count(Slot slot) const { return decisions_by_slot_[slot]; }
  /// How often each slot is named by the decisions of other placements than this one, reserved ones included.
  std::vector<std::int64_t> foreign_counts(std::string_view ns, std::string_view placement) const;
  const Score* score(Slot slot, std::string_view resource) const;
  const Score* score(std::string_view cluster, std::string_view resource) const;

  /// The clusters, not being deleted, that any of the sets takes, by name. The sets have no error; they are named once each.
  std::shared_ptr<const std::vector<Slot>> members(const std::vector<const Set*>& sets) const;
  /// A slot's place in the order of names. Valid until the next write, as every reference from here on.
  const std::vector<std::uint32_t>& ranks() const;
  /// Clears the flag of each of the slots (by position) whose cluster the selectors do not match. The slots have clusters.
  void match(const Selector& labels, const Selector& claims, const std::vector<Slot>& slots,
             std::vector<std::uint8_t>& flags) const;
  const ScoreColumn& scores(const AddonCoordinate& addon) const;
  /// Clears the flag of each of the slots whose cluster the program does not match. Answers are kept until the cluster changes,
  /// or any score does where the program `reads_scores`.
  void match(const std::shared_ptr<const CelProgram>& program, bool reads_scores, const std::vector<Slot>& slots,
             std::vector<std::uint8_t>& flags) const;

  bool tainted(Slot slot) const { return (state_[slot] & kTainted) != 0; }
  /// Allocatable figures; nullptr where the cluster has none.
  const double* cpu(Slot slot) const { return (state_[slot] & kHasCpu) != 0 ? &cpu_[slot] : nullptr; }
  const double* memory(Slot slot) const { return (state_[slot] & kHasMemory) != 0 ? &memory_[slot] : nullptr; }

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
    std::string resource_version;
  };
  /// The decisions with the placement's label in its namespace, by name.
  std::map<std::string_view, const KnownDecision*> own_decisions(std::string_view ns, std::string_view placement) const;

  std::size_t cluster_count() const { return cluster_count_; }
  /// A rough figure for the benchmarks.
  std::size_t approximate_bytes() const;

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<Cluster> cluster;
    std::map<std::string, Score, std::less<>> scores;
  };
  enum State : std::uint8_t { kPresent = 1, kDeleting = 2, kTainted = 4, kHasCpu = 8, kHasMemory = 16 };
  using Keyed = std::pair<std::string, std::string>;
  struct Derived;  // what is made when asked for; guards itself

  /// Clusters that serve the same have the same long list: it is kept once.
  void share_items(Score& score);
  Slot slot_for(std::string_view name);
  void release(Slot slot);
  void take_columns(Slot slot, const Cluster* before, const Cluster* after);
  void take_score(Slot slot, std::string_view resource);
  void forget_answers(Slot slot);
  void count_reserved(const std::pair<std::string, std::string>& key);
  const LabelColumn& column(bool of_claims, std::string_view key) const;
  void match(bool of_claims, const Selector::Requirement& requirement, const std::vector<Slot>& slots,
             std::vector<std::uint8_t>& flags) const;

  std::map<std::string, std::vector<std::shared_ptr<const Score::Items>>, std::less<>>
      long_items_;  // by the score's name, the last ones
  std::vector<Entry> slots_;
  std::vector<std::int64_t> decisions_by_slot_;
  /// What a reservation adds to the counts of the known decisions, until those are the reserved ones.
  struct Reservation {
    std::vector<Slot> wanted;  // sorted
    std::vector<std::pair<Slot, std::int64_t>> counted;
  };
  std::map<Keyed, Reservation> reservations_;
  std::vector<std::int64_t> reserved_by_slot_;
  std::vector<double> cpu_;
  std::vector<double> memory_;
  std::vector<std::uint8_t> state_;
  std::vector<Slot> free_;
  std::unordered_map<std::string, Slot, TextHash, std::equal_to<>> by_name_;
  std::unique_ptr<Derived> derived_;
  std::size_t cluster_count_ = 0;
  std::map<std::string, Set, std::less<>> sets_;
  std::map<std::string, std::map<std::string, Binding, std::less<>>, std::less<>> bindings_;
  std::map<std::string, std::set<Keyed>, std::less<>> bindings_by_set_;
  std::map<std::string, std::map<std::string, KnownDecision, std::less<>>, std::less<>> decisions_;  // namespace → name
  std::map<Keyed, std::set<std::string>> decisions_by_placement_;  // (namespace, label) → names
};

}  // namespace fleetadm::placement
