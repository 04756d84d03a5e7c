// What commands that change an add-on's configurations have in common: the objects of its roll-out, the guard, the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/work_guard.h"
#include "core/addon/plan/addon_change.h"

namespace fleetadm::commands {

/// The ClusterManagementAddOn; kNotFound, with the names that are near, where the hub has none.
Result<Json> declaration_of(const kube::Client& hub, const std::string& name);
/// addon::read_addon_rollout(), with those names.
Result<addon::AddonRolloutObjects> addon_objects(const kube::Client& hub, const std::string& name,
                                                 const std::vector<addon::DesiredConfig>& further = {});

/// How many clusters may begin at once without asking.
inline constexpr std::size_t kAtOnce = 10;

struct AddonGuardOptions {
  WorkGuardOptions removals;
  bool many = false;

  /// How far the course has to be known.
  addon::Course course() const { return removals.guard.plan ? addon::Course::kWhole : addon::Course::kFirstStep; }
};
/// The end of the description of every command with this guard.
inline constexpr const char* kAddonGuardText =
    "\n\nIf more than 10 clusters would be changed at once, or more than 20 % of the clusters that have the add-on would lose "
    "objects of it, the command asks first; without a terminal it is refused unless --allow-many or --allow-removals is given. "
    "--plan shows which clusters would change, in which order (-o json: kind AddonRolloutPlan), and changes nothing.";
/// --allow-many, and the flags of work_guard.h.
void bind_addon_guard(FlagSet& flags, AddonGuardOptions& options);

Status validate_addon_guard(const AddonGuardOptions& options);

/// Answers --plan with its report. Otherwise nullopt where the command may go on. An error where what would be rolled out cannot
/// be rendered.
Result<std::optional<Report>> guard_addon_change(Context& context, const AddonGuardOptions& options, const std::string& what,
                                                 const addon::PreparedChange& prepared, std::vector<std::string>& notes);

/// Whom the change reaches: "3 clusters change, 1 at once".
std::string reach_of(const addon::AddonRolloutPlan& plan);

}  // namespace fleetadm::commands
