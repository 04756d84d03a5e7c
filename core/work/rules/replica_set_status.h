// What the status of a ManifestWorkReplicaSet says (docs/reference/work.md#replica-set-status). Pure.
#pragma once

#include <map>
#include <string>

#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::work {

/// Ours, beside upstream's three: where the rollout is. Reasons: Complete, Progressing, Paused, Aborted, Failed (more failures
/// than are tolerated), Partial (over, with tolerated failures), Waiting (the placement's decisions), Invalid (a strategy or
/// decision that cannot be read).
inline constexpr std::string_view kRolloutCondition = "fleetadm.io/Rollout";
inline constexpr std::string_view kReasonWaiting = "Waiting";

/// Whether the hub's controller follows the decisions of a stored set as they are: PlacementView::at_rest for a reader who has
/// not watched them. Upstream's controller always does.
bool hub_follows_decisions(const Json& set);

/// The word for where it is, as the condition's reason; and one sentence for people.
std::string rollout_reason(const ReplicaSetPlan& plan);
std::string rollout_sentence(const ReplicaSetPlan& plan, const std::optional<Revision>& revision);

/// status after the round: conditions, placementSummary, summary.
Json replica_set_status(const Json& set, const ReplicaSetPlan& plan, const std::map<std::string, PlacementView>& placements,
                        const std::optional<Revision>& revision, Instant now);
/// status of a set whose owner label is not valid.
Json invalid_name_status(const Json& set, const std::string& problem, Instant now);

}  // namespace fleetadm::work
