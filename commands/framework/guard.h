// The guard in front of every command that can take works away from clusters. One rule for all of them:
//   * --allow-removals allows it;
//   * otherwise a person at a terminal is asked (--yes answers yes);
//   * otherwise, as in a script, it is refused (reason "RemovalsNotAllowed"); --yes does not change that.
// A dry run and --plan write nothing and are never refused. What cannot be computed, because something cannot be read, is refused
// as well: it never counts as "nothing is lost".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/placement/engine/object_set.h"
#include "core/work/plan/impact.h"

namespace fleetadm::commands {

struct GuardOptions {
  bool allow = false;
  bool yes = false;
  bool plan = false;
};

/// The end of the description of every guarded command.
inline constexpr const char* kGuardText =
    "\n\nIf clusters would lose works, the command asks first; without a terminal it is refused unless --allow-removals is given. "
    "--plan shows which clusters would lose which works (-o json: kind RemovalPlan), and changes nothing.";

/// --allow-removals, --yes and --plan.
void bind_guard(FlagSet& flags, GuardOptions& options);

/// The rule above for any reach that is to be allowed: asked at a terminal, refused elsewhere with the flag and the reason.
struct Reach {
  std::string text;
  std::string flag;
  std::string reason;
};
Status allow_reach(Context& context, bool yes, const Reach& reach);

/// The rule above for a loss that was computed: "unbinding …: 2 of 3 clusters (c1, c2) would lose 1 work (apps/web)".
/// kConflict: refused; kCancelled: declined.
Status allow_removals(Context& context, const GuardOptions& options, const std::string& loss);

/// What a command is about to change of what placements are decided from.
struct ProposedChange {
  std::string what;  // "unbinding cluster set prod from namespace apps"
  std::string ns;    // only placements of this namespace can be affected; empty: those of all namespaces
  std::function<void(placement::Objects&)> make;  // makes it on a copy of the hub's objects
  std::vector<std::string> leaving;               // clusters that leave the hub, and all their works with them
};

/// Clusters that lose works, and how the placements that works are distributed by (`every_placement`: all of them) move.
/// Any list that matters and cannot be read is an error.
Result<work::Impact> impact_of(const kube::Client& hub, const ProposedChange& change, Instant now, bool every_placement);

/// The error of impact_of() as a command tells it: what could not be computed, and how to go on without it.
Error not_computed(const Error& cause, const GuardOptions& options, const std::string& what);

/// Answers --plan with its report. Otherwise nullopt where the command may go on; in a dry run with a loss, what the loss would
/// be is put into `notes`.
Result<std::optional<Report>> guard_change(Context& context, const kube::Client& hub, const GuardOptions& options,
                                           const ProposedChange& change, std::vector<std::string>& notes);

/// The same for a loss that is known already.
Result<std::optional<Report>> guard_impact(Context& context, const GuardOptions& options, const std::string& what,
                                           const work::Impact& impact, std::vector<std::string>& notes);

/// What --plan prints: kind RemovalPlan.
Report plan_report(const std::string& what, const work::Impact& impact);

}  // namespace fleetadm::commands
