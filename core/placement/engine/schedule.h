// One scheduling pass as a pure function: placement + world + time → decisions, conditions, status. Same input, same answer in
// the same order. See docs/reference/placement.md; the differences from upstream are named where they are made:
//   * a negative numberOfClusters is a misconfiguration (upstream crashes);
//   * the message of a condition ends where the API server would refuse it (upstream's status is refused again and again);
//   * of several equally possible errors or warnings, the one of the smallest plugin name is told (upstream: any of them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/placement/engine/cel.h"
#include "core/placement/engine/fleet_state.h"
#include "core/placement/engine/types.h"

namespace fleetadm::placement {

enum class Code { kSuccess, kWarning, kError, kMisconfigured };

struct Verdict {
  Code code = Code::kSuccess;
  std::string plugin;
  std::string message;
};

using Scores = std::vector<std::pair<std::string, std::int64_t>>;  // by cluster name

struct FilterRecord {
  std::string name;                   // "Predicate", "Predicate,TaintToleration"
  std::vector<std::string> clusters;  // by name
};

struct PrioritizerRecord {
  std::string name;  // "Balance", "AddOn/<resource>/<score>"
  std::int64_t weight = 0;
  Scores scores;
};

/// A PlacementDecision that should be.
struct WantedDecision {
  std::string name;
  std::string group_name;
  int group_index = 0;
  std::vector<std::string> clusters;  // by name, at most 100
};

struct GroupStatus {
  int index = 0;
  std::string name;
  std::vector<std::string> decisions;
  std::int64_t clusters = 0;
};

struct ConditionValue {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
};

struct Pass {
  /// Scheduling is off for this placement, or it is being deleted: nothing is to be done.
  bool skipped = false;
  /// Not empty: the pass ended before anything could be decided; nothing is to be written, and it is tried again.
  std::string failure;

  Verdict verdict;
  std::vector<FilterRecord> filters;            // with PassOptions::record
  std::vector<PrioritizerRecord> prioritizers;  // with PassOptions::record; by name, then weight
  Scores sums;                                  // with PassOptions::record; of every cluster left by the filters
  std::string score_note;                       // the sums as an event tells them; empty where nothing was summed
  std::vector<std::string> selected;            // best first
  std::optional<Instant> requeue_at;
  /// The next instant at which a score that was used expires (upstream does not look again then; a caller may).
  std::optional<Instant> scores_expire_at;

  std::vector<WantedDecision> decisions;
  std::vector<std::string> surplus;  // existing decisions to delete, by name
  std::int64_t selected_count = 0;
  std::vector<GroupStatus> groups;
  std::vector<ConditionValue> conditions;  // PlacementMisconfigured, PlacementSatisfied
};

struct PassOptions {
  const CelEvaluator* cel = nullptr;
  /// Keep what each stage did (explanations, tests); without it a pass is cheaper.
  bool record = false;
};

Pass schedule(const FleetState& world, const Placement& placement, Instant now, const PassOptions& options = {});

}  // namespace fleetadm::placement
