#include "commands/framework/guard.h"

#include "commands/framework/dry_run.h"

namespace fleetadm::commands {

void bind_guard(FlagSet& flags, GuardOptions& options) {
  flags.boolean(&options.allow, "allow-removals", "Allow any number of removals of works and objects, without asking");
  flags.boolean(&options.yes, "yes", "Skip the confirmation prompt at a terminal", 'y');
  flags.boolean(&options.plan, "plan", "Show which clusters would lose which works, and change nothing");
}

Status allow_reach(Context& context, bool yes, const Reach& reach) {
  if (!context.terminal().interactive()) {
    Error error = fail(Category::kConflict, reach.text, "if this is intended, add " + reach.flag).value();
    error.reason = reach.reason;
    return tl::unexpected(std::move(error));
  }
  if (yes) return {};
  FLEETADM_TRY(const bool sure, context.terminal().confirm(reach.text + ". Continue?"));
  if (!sure) return fail(Category::kCancelled, "nothing was changed");
  return {};
}

Status allow_removals(Context& context, const GuardOptions& options, const std::string& loss) {
  if (options.allow || options.plan || is_dry(context)) return {};
  return allow_reach(context, options.yes, {loss, "--allow-removals", "RemovalsNotAllowed"});
}

Error not_computed(const Error& cause, const GuardOptions& options, const std::string& what) {
  Error error = cause.wrap("cannot compute which works " + what + " would remove");
  if (!options.plan) {
    error.hint += error.hint.empty() ? "" : "; ";
    error.hint += "to proceed without knowing, add --allow-removals";
  }
  return error;
}

Result<std::optional<Report>> guard_change(Context& context, const kube::Client& hub, const GuardOptions& options,
                                           const ProposedChange& change, std::vector<std::string>& notes) {
  if (options.allow && !options.plan) return std::nullopt;
  auto impact = impact_of(hub, change, context.clock().now(), options.plan);
  if (!impact) return tl::unexpected(not_computed(impact.error(), options, change.what));
  return guard_impact(context, options, change.what, *impact, notes);
}

Result<std::optional<Report>> guard_impact(Context& context, const GuardOptions& options, const std::string& what,
                                           const work::Impact& impact, std::vector<std::string>& notes) {
  if (options.plan) return plan_report(what, impact);
  if (impact.none()) return std::nullopt;
  const std::string loss = what + ": " + impact.sentence();
  if (is_dry(context)) notes.push_back(loss + "; without a terminal this needs --allow-removals");
  FLEETADM_CHECK(allow_removals(context, options, loss));
  return std::nullopt;
}

Report plan_report(const std::string& what, const work::Impact& impact) {
  Report report;
  report.table = Table{{{"CLUSTER"}, {"WORK"}, {"EFFECT"}, {"OBJECT", true}}, {}, "no cluster loses a work"};
  Json losses = Json::array();
  for (const work::LostWork& one : impact.lost) {
    const std::string effect = one.effect == work::LostWork::Effect::kRemoved ? "removed" : "abandoned";
    report.table->rows.push_back({one.cluster, one.title(), effect, one.work});
    report.names.push_back(one.cluster + "/" + one.work);
    Json loss{{"cluster", one.cluster}, {"work", one.work}, {"effect", effect}};
    if (!one.set.empty()) loss["set"] = one.set;
    losses.push_back(std::move(loss));
  }
  Json placements = Json::array();
  for (const work::SelectionChange& one : impact.placements) {
    const std::string name = one.placement.first + "/" + one.placement.second;
    const std::vector<std::string> added = one.added();
    const std::vector<std::string> removed = one.removed();
    std::string note = "placement " + name + ": ";
    if (!one.exists_after) note += "deleted, ";
    note += std::to_string(added.size()) + " added, " + std::to_string(removed.size()) + " removed";
    if (!removed.empty()) note += " (" + work::some_names({removed.begin(), removed.end()}) + ")";
    report.notes.push_back(std::move(note));
    placements.push_back(
        {{"namespace", one.placement.first}, {"name", one.placement.second}, {"added", added}, {"removed", removed}});
  }
  report.notes.push_back((impact.none() ? what + " removes no work" : what + ": " + impact.sentence()) + "; nothing was changed");
  report.data = {{"kind", "RemovalPlan"},
                 {"change", what},
                 {"clusters", impact.clusters},
                 {"losses", std::move(losses)},
                 {"placements", std::move(placements)}};
  return report;
}

}  // namespace fleetadm::commands
