// The rollout engine's inputs and outputs as values (docs/reference/rollout.md#data).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"

namespace fleetadm::rollout {

/// Where one cluster stands. A value that the engine does not know is treated as Progressing.
enum class State { kToApply, kProgressing, kSucceeded, kFailed, kTimeOut, kSkip };

/// "ToApply", "Progressing", "Succeeded", "Failed", "TimeOut", "Skip".
std::string_view to_string(State state);
State parse_state(std::string_view text);

struct GroupKey {
  std::string name;
  int index = 0;

  auto operator<=>(const GroupKey&) const = default;
};

struct ClusterState {
  std::string cluster;
  GroupKey group;
  State state = State::kToApply;
  std::optional<Instant> since;    // lastTransitionTime; absent: every deadline starts anew at each step
  std::optional<Instant> recheck;  // output: when the deadline or the soak ends
};

/// A decision group of a placement.
struct Group {
  GroupKey key;
  std::vector<std::string> clusters;
};

/// A count or a percentage as it was written: kept as text until its total is known.
struct Threshold {
  std::int64_t number = 0;
  std::optional<std::string> text;
};

/// An entry of mandatoryDecisionGroups: by name where there is one, else by index.
struct GroupRef {
  std::string name;
  int index = 0;
};

enum class Kind { kAll, kProgressive, kProgressivePerGroup };

struct Strategy {
  Kind kind = Kind::kAll;
  Duration min_success_time{};                // not of kAll
  std::optional<Duration> progress_deadline;  // nullopt: unlimited
  Threshold max_failures;                     // not of kAll
  Threshold max_concurrency;                  // of kProgressive
  std::vector<GroupRef> mandatory;            // not of kAll
};

/// What to do now.
struct Step {
  std::vector<ClusterState> rollout;    // to apply now, or under way
  std::vector<ClusterState> timed_out;  // past the deadline, as TimeOut
  std::vector<std::string> removed;     // known clusters that are in no group any more, in the order given
  bool breach = false;                  // more failures than are tolerated: nothing new is started
  std::optional<Duration> recheck_after;
};

/// Whose arithmetic is followed where upstream's leads astray.
enum class Semantics {
  /// Upstream's answers to the letter, its defects included.
  kUpstream,
  /// Ours: groups behind a gap of indexes are seen; the mandatory phase looks at mandatory clusters only, so that the others'
  /// batches are refilled and their failures counted; a group is left only when nothing of it is pending or under way; a
  /// failed mandatory cluster holds the rollout also where it was reported as timed out; what exceeds its failure limit
  /// starts nothing more, in the same group neither; every failure counts, whatever the concurrency.
  kStrict,
};

}  // namespace fleetadm::rollout
