#include "commands/rollout/addon_history.h"

#include <algorithm>

#include "commands/framework/caller.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "commands/rollout/addon_status.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

std::string list_hint(const std::string& addon) { return "list the revisions with: fleetadm rollout history addon/" + addon; }

std::string outcome_in(const AddonHistory& history, const addon::AddonRevision& one) {
  if (one.aborted) return "Aborted";
  if (&one != &history.revisions.back()) return one.finished ? "Complete" : "Superseded";
  const RolloutState state = state_of(history.standing);
  return state == RolloutState::kRunning ? "InProgress" : std::string(to_string(state));
}

std::string named_config(const addon::DesiredConfig& config) {
  return config.key.type.resource + " " + (config.key.ns.empty() ? "" : config.key.ns + "/") + config.key.name;
}

std::string named_configs(const std::vector<addon::DesiredConfig>& configs) {
  std::vector<std::string> names;
  for (const addon::DesiredConfig& one : configs) names.push_back(named_config(one));
  return joined(names, ", ");
}

Json configs_json(const std::vector<addon::DesiredConfig>& configs) {
  Json list = Json::array();
  for (const addon::DesiredConfig& one : configs) {
    Json entry = addon::to_json(one);
    entry["group"] = one.key.type.group;
    entry["resource"] = one.key.type.resource;
    list.push_back(std::move(entry));
  }
  return list;
}

Json revision_json(const AddonHistory& history, const addon::AddonRevision& one) {
  Json entry{{"revision", one.number},
             {"outcome", outcome_in(history, one)},
             {"defaults", configs_json(one.configs.defaults)},
             {"placements", Json::array()}};
  for (const auto& [placement, configs] : one.configs.placements)
    entry["placements"].push_back({{"placement", placement}, {"configs", configs_json(configs)}});
  if (!one.by.empty()) entry["by"] = one.by;
  if (one.started) entry["started"] = format_time(*one.started);
  if (one.finished) entry["finished"] = format_time(*one.finished);
  if (one.copied_from > 0) entry["copiedFrom"] = one.copied_from;
  return entry;
}

Result<const addon::AddonRevision*> numbered_in(const AddonHistory& history, const std::string& addon, std::int64_t number) {
  for (const addon::AddonRevision& one : history.revisions) {
    if (one.number == number) return &one;
  }
  return fail(Category::kNotFound, "rollout addon/" + addon + " has no revision " + std::to_string(number), list_hint(addon));
}

Result<const addon::AddonRevision*> former_of(const AddonHistory& history, const std::string& addon, std::int64_t number) {
  if (number > 0) return numbered_in(history, addon, number);
  const auto found = std::find_if(history.revisions.rbegin(), history.revisions.rend(), [&](const addon::AddonRevision& one) {
    return !addon::same_configs(one.configs, history.standing.configs);
  });
  if (found != history.revisions.rend()) return &*found;
  return fail(Category::kNotFound, "rollout addon/" + addon + " has no previous revision", list_hint(addon));
}

/// What a revision has that the one before has not.
std::string note_of(const AddonHistory& history, std::size_t index) {
  const addon::AddonRevision& one = history.revisions[index];
  std::vector<std::string> parts;
  if (one.copied_from > 0) parts.push_back("as revision " + std::to_string(one.copied_from));
  const addon::RevisionConfigs none;
  const addon::RevisionConfigs& before = index == 0 ? none : history.revisions[index - 1].configs;
  if (index == 0 && !one.configs.defaults.empty()) parts.push_back("default " + named_configs(one.configs.defaults));
  if (index > 0) {
    for (const addon::ConfigChange& change : addon::config_changes(before, one.configs)) parts.push_back(change.text());
  }
  for (const auto& [placement, configs] : one.configs.placements) {
    if (!configs.empty() && !before.placements.contains(placement))
      parts.push_back("placement " + placement + ": " + named_configs(configs));
  }
  return joined(parts, "; ");
}

Report one_revision(const AddonHistory& history, const std::string& addon, const addon::AddonRevision& one) {
  Report report;
  report.data = revision_json(history, one);
  report.data["kind"] = "AddonRolloutRevision";
  report.data["name"] = addon;
  const auto tell = [&](const std::string& where, const std::vector<addon::DesiredConfig>& configs) {
    for (const addon::DesiredConfig& config : configs)
      report.lines.push_back(where + named_config(config) + (config.hash.empty() ? "" : " (" + config.hash.substr(0, 12) + ")"));
  };
  tell("default ", one.configs.defaults);
  for (const auto& [placement, configs] : one.configs.placements) tell("placement " + placement + ": ", configs);
  return report;
}

}  // namespace

std::int64_t AddonHistory::number_now() const {
  if (revisions.empty() || !addon::same_configs(revisions.back().configs, standing.configs)) return 0;
  return revisions.back().number;
}

const addon::AddonRevision* AddonHistory::aborted_before() const {
  if (revisions.size() < 2 || number_now() == 0) return nullptr;
  const addon::AddonRevision& before = revisions[revisions.size() - 2];
  return before.aborted ? &before : nullptr;
}

Result<AddonHistory> read_addon_history(const kube::Client& hub, const std::string& addon, Instant now) {
  AddonHistory history;
  FLEETADM_TRY(const Json declaration, declaration_of(hub, addon));
  std::vector<addon::DesiredConfig> further;
  for (const addon::AddonRevision& one : addon::addon_revisions(declaration)) {
    const auto configs = one.configs.all();
    further.insert(further.end(), configs.begin(), configs.end());
  }
  FLEETADM_TRY(history.read, addon_objects(hub, addon, further));
  history.revisions = addon::addon_revisions(*history.read.declaration(addon));
  FLEETADM_TRY(history.standing, addon::rollout_standing(history.read.objects, addon, history.read.known(), now));
  return history;
}

Result<addon::PreparedChange> prepare_undo(Context& context, const kube::Client& hub, const AddonHistory& history,
                                           const std::string& addon, const addon::RevisionConfigs& target, const UndoOf& undo) {
  addon::AddonChange change;
  change.addon = addon;
  FLEETADM_TRY(change.edits, addon::edits_towards(history.read, target.all()));
  change.edit = [target, undo](Json& declaration) -> Status {
    addon::set_configs(declaration, target);
    if (undo.aborts) erase_at(declaration, {"metadata", "annotations", work::kPausedAnnotation});
    return {};
  };
  change.note = {caller(hub), undo.to, undo.aborts};
  return addon::prepare_change(history.read, std::move(change), context.clock().now(), undo.course);
}

Result<Report> addon_history(Context& context, const std::string& addon, std::int64_t revision) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  const Instant now = context.clock().now();
  FLEETADM_TRY(const AddonHistory history, read_addon_history(hub, addon, now));
  if (revision > 0) {
    FLEETADM_TRY(const addon::AddonRevision* chosen, numbered_in(history, addon, revision));
    return one_revision(history, addon, *chosen);
  }
  Report report;
  report.table = Table{{{"REVISION"}, {"OUTCOME"}, {"AGE"}, {"TOOK"}, {"BY"}, {"NOTE"}},
                       {},
                       "No revisions found (fleetadm's hub controllers and commands record them)."};
  report.data = Json{{"kind", "AddonRolloutHistory"}, {"name", addon}, {"items", Json::array()}};
  for (std::size_t i = 0; i < history.revisions.size(); ++i) {
    const addon::AddonRevision& one = history.revisions[i];
    const std::string took = one.started && one.finished ? format_age(*one.started, *one.finished) : "<none>";
    report.table->rows.push_back({std::to_string(one.number), outcome_in(history, one),
                                  one.started ? format_age(*one.started, now) : "<unknown>", took, or_none(one.by),
                                  or_none(note_of(history, i))});
    report.data["items"].push_back(revision_json(history, one));
  }
  return report;
}

Result<Report> undo_addon(Context& context, const std::string& addon, std::int64_t revision, const AddonGuardOptions& guard) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const AddonHistory history, read_addon_history(hub, addon, context.clock().now()));
  FLEETADM_TRY(const addon::AddonRevision* target, former_of(history, addon, revision));
  const std::string number = std::to_string(target->number);
  Report report;
  report.names.push_back(full_name(api::cluster_management_addons(), addon));
  FLEETADM_TRY(const addon::PreparedChange prepared,
               prepare_undo(context, hub, history, addon, target->configs, {target->number, false, guard.course()}));
  if (!prepared.differs) {
    report.lines.push_back("rollout addon/" + addon + " already has the configurations of revision " + number +
                           dry_run_mark(context));
    report.data = prepared.before;
    return report;
  }
  FLEETADM_TRY(auto plan, guard_addon_change(context, guard, "rolling back addon/" + addon + " to revision " + number, prepared,
                                             report.notes));
  if (plan) return std::move(*plan);
  FLEETADM_TRY(report.data, addon::carry_out_change(hub, prepared, context.clock().now()));
  report.lines.push_back("rollout addon/" + addon + " is being rolled back to revision " + number + dry_run_mark(context));
  for (const addon::ConfigChange& one : prepared.changes) report.lines.push_back(one.text());
  if (is_dry(context)) return report;
  report.notes.push_back(history.standing.paused ? "The rollout is paused; start it with: fleetadm rollout resume addon/" + addon
                                                 : "Watch it: fleetadm rollout status addon/" + addon + " -w");
  return report;
}

}  // namespace fleetadm::commands
