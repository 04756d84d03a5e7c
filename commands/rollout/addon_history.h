// rollout history and undo of addon/NAME: the revisions of an add-on's configurations, and the way back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/framework/addon_change.h"
#include "core/addon/rules/rollout_standing.h"

namespace fleetadm::commands {

struct AddonHistory {
  addon::AddonRolloutObjects read;  // with the configurations of all revisions
  addon::RolloutStanding standing;
  std::vector<addon::AddonRevision> revisions;  // ascending

  /// The revision that is rolled out now; 0: it is not noted yet.
  std::int64_t number_now() const;
  /// The one that was aborted by the last change; nullptr: that was no abort.
  const addon::AddonRevision* aborted_before() const;
};
Result<AddonHistory> read_addon_history(const kube::Client& hub, const std::string& addon, Instant now);

struct UndoOf {
  std::int64_t to = 0;
  bool aborts = false;  // what is rolled out now is given up, and the roll-out not paused any more
  addon::Course course = addon::Course::kFirstStep;
};
/// The way back to `target`, contents of configurations that were edited in place included.
Result<addon::PreparedChange> prepare_undo(Context& context, const kube::Client& hub, const AddonHistory& history,
                                           const std::string& addon, const addon::RevisionConfigs& target, const UndoOf& undo);

/// `revision` 0: all of them.
Result<Report> addon_history(Context& context, const std::string& addon, std::int64_t revision);
/// `revision` 0: the newest that differs from what is rolled out now.
Result<Report> undo_addon(Context& context, const std::string& addon, std::int64_t revision, const AddonGuardOptions& guard);

}  // namespace fleetadm::commands
